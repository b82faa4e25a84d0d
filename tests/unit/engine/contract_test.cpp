// The library refuses at its boundary what the public headers forbid: it throws std::invalid_argument with a message
// that names the mistake.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/fields.h"
#include "cleave/index_file.h"
#include "cleave/mapping_guard.h"
#include "cleave/memory.h"
#include "cleave/names.h"
#include "cleave/pieces_by_value.h"
#include "cleave/plan.h"
#include "cleave/stage.h"
#include "inputs.h"
#include "jobs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::contract_test {

// Runs `call`, which must refuse its arguments with a message that contains `part`.
template <class Call>
void expect_refused(const std::string& part, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "accepted; expected a message with: " << part;
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
}

class NullSink : public PieceSink {
public:
    void header(std::span<const std::uint8_t>) override {}
    void begin(const Piece&) override {}
    void body(std::span<const std::uint8_t>) override {}
    void end(const Piece&) override {}
};

const std::string kText = "a,b\n1,2\n3,4\n";

// Sets an environment variable for its lifetime.
class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() { ::unsetenv(name_); }

private:
    const char* name_;
};

// Expects every public function that takes a dialect and an execution to refuse them.
void expect_refused_by_all(const std::string& part, const Dialect& dialect, const Execution& execution) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    Job job = job_of(by_records(1).policy, dialect);
    job.execution = execution;
    job.output.names = directory.path("{i}.csv");
    Watcher watcher;
    NullSink sink;
    {
        SCOPED_TRACE("RecordIndex");
        expect_refused(part, [&] { const RecordIndex index(bytes_of(kText), dialect, execution); });
    }
    for (const bool is_stream : {false, true}) {
        SCOPED_TRACE(is_stream ? "of a stream" : "of a mapped file");
        Pipe pipe(kText, {64});
        const auto open = [&] { return Input::open(is_stream ? pipe.path() : path); };
        Input input = open();
        expect_refused(part, [&] { (void)scan(input, dialect, execution); });
        expect_refused(part, [&] { (void)examine(input, dialect, execution); });
        expect_refused(part, [&] { (void)cut_stream(input, dialect, execution, job.policy, sink); });
        expect_refused(part, [&] { run_job(input, job, watcher); });
    }
    EXPECT_EQ(directory.files().size(), 1U);
}

TEST(Contract, AFaultyDialectIsRefused) {
    Dialect dialect;
    dialect.quote = dialect.delimiter;
    expect_refused_by_all("the quote and the delimiter are the same byte", dialect, {});
    expect_refused("same byte", [&] { (void)field_values(bytes_of(kText), dialect); });
    dialect = {};
    dialect.escape = '\n';
    expect_refused_by_all("the escape cannot be a line break", dialect, {});
}

TEST(Contract, AFaultyExecutionIsRefused) {
    Execution execution;
    execution.block_size = 0;
    expect_refused_by_all("block size", {}, execution);
    execution.block_size = kMaxBlockSize + 1;
    expect_refused_by_all("block size", {}, execution);
}

TEST(Contract, NoThreadsMeansAllCores) {
    Execution execution;
    EXPECT_EQ(execution.threads, 0U);
    EXPECT_EQ(execution.thread_count(), usable_cores());
    EXPECT_EQ(RecordIndex(bytes_of(kText), Dialect(), execution).threads(), usable_cores());
    execution.threads = 3;
    EXPECT_EQ(execution.thread_count(), 3U);
}

TEST(Contract, APolicyIsRefusedWhereItIsMade) {
    expect_refused("at least 1", [] { (void)Policy::by_records(0); });
    expect_refused("at least 1", [] { (void)Policy::by_max_bytes(0); });
    expect_refused("at least 1", [] { (void)Policy::into_pieces(0); });
    expect_refused("name of a column", [] { (void)Policy::by_column(""); });
    Policy policy;
    policy.records = 5;
    EXPECT_EQ(Policy::by_records(5), policy);
    policy = {};
    policy.max_bytes = 5;
    EXPECT_EQ(Policy::by_max_bytes(5), policy);
    policy = {};
    policy.pieces = 5;
    policy.balance = Balance::kRecords;
    EXPECT_EQ(Policy::into_pieces(5, Balance::kRecords), policy);
    policy = {};
    policy.by = ByValue{{"a,b", "by_column"}};
    EXPECT_EQ(Policy::by_column("a,b"), policy);
}

// Catches each error both as one of this library and as one of the standard library, with the same text.
template <class Thrown, class Standard>
void expect_caught(const Thrown& thrown) {
    try {
        throw Thrown(thrown);
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), thrown.what());
    }
    try {
        throw Thrown(thrown);
    } catch (const Standard& error) {
        EXPECT_STREQ(error.what(), thrown.what());
    }
}

TEST(Contract, ErrorsHaveOneBaseAndOneOfTheStandardLibrary) {
    expect_caught<ArgumentError, std::invalid_argument>(ArgumentError("an argument"));
    expect_caught<LogicError, std::logic_error>(LogicError("too early"));
    expect_caught<SystemError, std::system_error>(SystemError(ENOENT, std::generic_category(), "in.csv"));
    expect_caught<InputError, std::runtime_error>(InputError("malformed", Place{7, 1}));
    expect_caught<OpenQuoteError, std::runtime_error>(OpenQuoteError({7, 1}));
    expect_caught<MemoryError, std::bad_alloc>(MemoryError("system", ENOMEM, 8));
    EXPECT_EQ(SystemError(ENOENT, std::generic_category(), "in.csv").code(), std::errc::no_such_file_or_directory);
}

template <class... Thrown>
constexpr bool kAreErrors = (std::is_base_of_v<Error, Thrown> && ...);
static_assert(
    kAreErrors<InputChangedError, SnapshotError, Cancelled, MemoryManagerError, MemoryManagerNameError, ValueLimitError,
               HeaderSizeError, PieceCountError, SpoolError, IndexError, RuleError, OutputError, OtherPieceError,
               MissingDirectoryError, CloneError, FilterError, IndexWidthError>);

TEST(Contract, AnUnknownKernelInTheEnvironmentIsRefused) {
    const Environment environment("CLEAVE_KERNEL", "abacus");
    expect_refused_by_all("no kernel 'abacus'", {}, {});
    expect_refused("no kernel 'abacus'", [] { (void)default_kernel(); });
}

TEST(Contract, AWishThatNoDialectCanMeetIsRefused) {
    DialectOptions wanted;
    wanted.sniff_delimiter = false;
    wanted.dialect.delimiter = '"';
    expect_refused("the quote and the delimiter are the same byte",
                   [&] { (void)settle_dialect(wanted, bytes_of(kText), "in.csv"); });
    wanted = {};
    wanted.dialect.quote = '\n';
    for (const char* name : {"in.csv", "in.tsv"}) {
        expect_refused("the quote cannot be a line break",
                       [&] { (void)settle_dialect(wanted, bytes_of(kText), name); });
    }
    // The sniffed delimiter must differ from the quote.
    wanted.dialect.quote = ',';
    EXPECT_NE(settle_dialect(wanted, bytes_of(kText), "in.csv").dialect.delimiter, ',');
}

std::vector<std::pair<std::string, Policy>> faulty_policies() {
    std::vector<std::pair<std::string, Policy>> all;
    all.emplace_back("no limit", Policy{});
    all.emplace_back("at least 1", by_records(0).policy);
    Policy policy;
    policy.max_bytes = 0;
    all.emplace_back("at least 1", policy);
    policy = {};
    policy.pieces = 0;
    all.emplace_back("at least 1", policy);
    policy.pieces = 2;
    policy.max_bytes = 10;
    all.emplace_back("cannot be used with", policy);
    policy = by_records(1).policy;
    policy.alignment = kMaxGridStep + 1;
    all.emplace_back("alignment", policy);
    return all;
}

TEST(Contract, FaultyPartsAreRefused) {
    const auto refuse = [](const std::string& part, const Policy& policy) {
        SCOPED_TRACE(part);
        const RecordIndex index(bytes_of(kText), {}, {});
        expect_refused(part, [&] { const PiecesByValue pieces(index, policy); });
        const TemporaryDirectory directory;
        Input input = Input::open(directory.write("in.csv", kText));
        Job job = job_of(policy);
        job.output.names = directory.path("{i}.csv");
        expect_refused(part, [&] { run_job(input, job); });
        EXPECT_EQ(directory.files().size(), 1U);
    };
    const Policy sound = Policy::into_parts({{"x", 1}, {"y", 2}}, "a");
    Policy policy = sound;
    policy.by->parts[0].name.clear();
    refuse("needs a name", policy);
    policy.by->parts[0].name = "y";
    refuse("two parts are named y", policy);
    policy = sound;
    policy.by->parts[1].weight = 0;
    refuse("weight of a part must be at least 1", policy);
    policy.by->parts[1].weight = UINT64_MAX;
    refuse("below 2^64", policy);
    policy = sound;
    policy.by->buckets = 2;
    refuse("buckets cannot be used with parts", policy);
    policy = sound;
    policy.records = 1;
    refuse("buckets and parts cannot be used with records", policy);
    policy = sound;
    policy.by->columns.text.clear();
    policy.by->drops_columns = true;
    refuse("columns", policy);
    std::vector<Part> many;
    many.reserve(ByValue::kMostParts);
    for (std::size_t i = 0; i < ByValue::kMostParts; ++i) many.push_back({std::to_string(i)});
    policy = Policy::into_parts(many);
    policy.by->parts.push_back({"more"});
    refuse("at most 1000 parts", policy);
    expect_refused("into_parts needs a part", [] { (void)Policy::into_parts({}); });
    expect_refused("two parts are named x", [] { (void)Policy::into_parts({{"x"}, {"x"}}); });
}

TEST(Contract, AFaultyPolicyIsRefused) {
    const TemporaryDirectory directory;
    const RecordIndex index(bytes_of(kText), {}, {});
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    Watcher watcher;
    NullSink sink;
    for (const auto& [part, policy] : faulty_policies()) {
        SCOPED_TRACE(part);
        expect_refused(part, [&] { plan_pieces(index, policy, [](const Piece&) { FAIL() << "a piece"; }); });
        expect_refused(part, [&] { (void)cut_stream(input, {}, {}, policy, sink); });
        Job job = job_of(policy);
        job.output.names = directory.path("{i}.csv");
        expect_refused(part, [&] { run_job(input, job, watcher); });
    }
    expect_refused("take", [&] { plan_pieces(index, by_records(1).policy, nullptr); });
    EXPECT_TRUE(directory.files().empty());
}

TEST(Contract, OnlyAWholeFileHasAnIndex) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    Pipe pipe(kText, {64});
    Input stream = Input::open(pipe.path());
    Input snapshot = Input::open_snapshot(path);
    Input file = Input::open(path);
    expect_refused("stream", [&] { write_index(stream, {}, {}); });
    expect_refused("stream", [&] { (void)make_index(stream, {}, {}); });
    expect_refused("stream", [&] { (void)IndexFile::open(stream, {}); });
    expect_refused("snapshot", [&] { write_index(snapshot, {}, {}); });
    Dialect dialect;
    dialect.quote = dialect.delimiter;
    expect_refused("same byte", [&] { write_index(file, dialect, {}); });
    expect_refused("same byte", [&] { (void)IndexFile::open(file, dialect); });
    expect_refused("same byte", [&] { (void)dialect_digest(dialect); });
    Execution execution;
    execution.block_size = 0;
    expect_refused("block size", [&] { write_index(file, {}, execution); });
    expect_refused("no file", [&] { (void)encode_index({{}, {Boundary{}}}); });
    EXPECT_EQ(directory.files().size(), 1U);
}

// The bytes of an index are trusted only for the file that it was opened for.
TEST(Contract, AnIndexOfAnotherInputIsNotUsed) {
    const TemporaryDirectory directory;
    Input file = Input::open(directory.write("in.csv", kText));
    Input other = Input::open(directory.write("other.csv", kText + "5,6\n"));
    write_index(file, {}, {});
    const auto index = IndexFile::open(file, {});
    ASSERT_TRUE(index);
    Execution execution;
    execution.index = index;
    EXPECT_EQ(index_records(file, {}, execution).findings().records, 3U);
    EXPECT_THROW(index_records(other, {}, execution), InputChangedError);
    Dialect dialect;
    dialect.delimiter = ';';
    EXPECT_THROW(index_records(file, dialect, execution), ArgumentError);
}

TEST(Contract, KnownRecordsAreNotScannedAgain) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    Input file = Input::open(path);
    Input other = Input::open(path);
    Meter meter;
    Execution execution;
    execution.meter = &meter;
    const RecordIndex known = index_records(file, {}, execution);
    EXPECT_EQ(meter.scanned, kText.size());
    meter.reset();
    execution.known = &known;
    EXPECT_TRUE(index_records(file, {}, execution).has_same_records(known));
    EXPECT_EQ(meter.scanned, 0U);
    expect_refused("another input", [&] { (void)index_records(other, {}, execution); });
    Dialect anywhere;
    anywhere.quoting = Quoting::kAnywhere;
    expect_refused("dialect", [&] { (void)index_records(file, anywhere, execution); });
    directory.write("in.csv", kText + "5,6\n");
    EXPECT_THROW(index_records(file, {}, execution), InputChangedError);
}

TEST(Contract, APolicyThatNeedsTheWholeInputIsRefusedByStreams) {
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    NullSink sink;
    Policy aligned = by_records(1).policy;
    aligned.alignment = 4096;
    expect_refused("whole input", [&] { (void)cut_stream(input, {}, {}, by_pieces(2).policy, sink); });
    expect_refused("alignment", [&] { (void)cut_stream(input, {}, {}, aligned, sink); });
}

TEST(Contract, AGridWithoutAPlaceIsRefused) {
    const RecordIndex index(bytes_of(kText), {}, {});
    Locator locator(index);
    for (const Grid& grid : {Grid{0, 0}, Grid{4, 4}, Grid{kMaxGridStep + 1, 0}}) {
        expect_refused("grid", [&] { (void)locator.first_on(grid, 0, 12); });
        expect_refused("grid", [&] { (void)locator.last_on(grid, 0, 12); });
    }
    EXPECT_FALSE(locator.first_on({kMaxGridStep, kMaxGridStep - 1}, UINT64_MAX, UINT64_MAX));
    EXPECT_FALSE(locator.last_on({kMaxGridStep, kMaxGridStep - 1}, UINT64_MAX, UINT64_MAX));
}

TEST(Contract, BytesOfAnUnmappedInputAreRefused) {
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    expect_refused("not mapped", [&] { (void)input.bytes(); });
    expect_refused("is a stream", [&] { (void)input.blob(); });
    input.spool();
    expect_refused("not mapped", [&] { (void)input.bytes(); });  // there is no guard
    EXPECT_EQ(input.blob().size(), kText.size());
    expect_refused("all there", [&] { (void)input.read(); });
}

TEST(Contract, AStreamIsReadOnce) {
    Pipe pipe(kText, {4});
    Input input = Input::open(pipe.path());
    ASSERT_FALSE(input.read().empty());
    expect_refused("after read()", [&] { (void)input.peek(1); });
    expect_refused("after read()", [&] { input.spool(); });
    expect_refused("after read()", [&] { (void)scan(input, {}, {}); });
    expect_refused("after read()", [&] { (void)examine(input, {}, {}); });
    NullSink sink;
    expect_refused("after read()", [&] { (void)cut_stream(input, {}, {}, by_records(1).policy, sink); });
}

TEST(Contract, AMovedFromInputIsRefused) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    Input moved = Input::open(path);
    Input input = std::move(moved);
    const std::string part = "moved";
    // NOLINTBEGIN(bugprone-use-after-move): that is what is tested
    expect_refused(part, [&] { (void)moved.path(); });
    expect_refused(part, [&] { (void)moved.identity(); });
    expect_refused(part, [&] { (void)moved.compression(); });
    expect_refused(part, [&] { (void)moved.consumed(); });
    expect_refused(part, [&] { (void)moved.cancellation(); });
    expect_refused(part, [&] { (void)moved.is_mapped(); });
    expect_refused(part, [&] { (void)moved.is_snapshot(); });
    expect_refused(part, [&] { (void)moved.left_out(); });
    expect_refused(part, [&] { moved.leave_out(0); });
    expect_refused(part, [&] { (void)moved.bytes(); });
    expect_refused(part, [&] { (void)moved.is_stream(); });
    expect_refused(part, [&] { (void)moved.blob(); });
    expect_refused(part, [&] { (void)moved.stream(); });
    expect_refused(part, [&] { (void)moved.consumed(); });
    expect_refused(part, [&] { (void)moved.offset_in_file(); });
    expect_refused(part, [&] { (void)moved.peek(1); });
    expect_refused(part, [&] { (void)moved.read(); });
    expect_refused(part, [&] { moved.spool(); });
    expect_refused(part, [&] { moved.throw_if_changed(); });
    expect_refused(part, [&] { (void)moved.is_unchanged(); });
    expect_refused(part, [&] { (void)scan(moved, {}, {}); });
    expect_refused(part, [&] { (void)examine(moved, {}, {}); });
    moved = std::move(input);
    // NOLINTEND(bugprone-use-after-move)
    EXPECT_EQ(moved.blob().size(), kText.size());
}

TEST(Contract, BytesOutsideOfABlobAreNotLent) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    const Input file = Input::open(path);
    const MappingGuard guard;
    const Input mapped = Input::open(path, nullptr, Access::kMapped);
    const Input memory = Input::of_memory(bytes_of(kText), "memory");
    const MemoryBlob bytes(bytes_of(kText));
    const RangeBlob range(bytes, 2, kText.size());
    std::vector<std::uint8_t> buffer;
    for (const Blob* blob :
         std::initializer_list<const Blob*>{&file.blob(), &mapped.blob(), &memory.blob(), &bytes, &range}) {
        EXPECT_EQ(blob->lend(blob->size(), 0, buffer).size(), 0U);
        expect_refused("not within", [&] { (void)blob->lend(blob->size(), 1, buffer); });
        expect_refused("not within", [&] { (void)blob->lend(1, blob->size(), buffer); });
        expect_refused("not within", [&] { (void)blob->lend(UINT64_MAX, 1, buffer); });
    }
}

TEST(Contract, AnIndexMayOutliveItsInput) {
    const TemporaryDirectory directory;
    std::string text = "h\n";
    for (int i = 0; i < 1000; ++i) text += std::to_string(i) + "\n";
    const auto index_of = [](Input input) { return index_records(input, Dialect()); };
    const RecordIndex index = index_of(Input::open(directory.write("in.csv", text)));
    EXPECT_EQ(Locator(index).start_of(11).offset, text.find("10\n"));
}

TEST(Contract, TheIndexOfADifferentDialectIsRefused) {
    const TemporaryDirectory directory;
    Input input = Input::open(directory.write("in.csv", kText));
    write_index(input, Dialect(), {});
    Execution execution;
    execution.index = IndexFile::open(input, Dialect());
    Dialect anywhere;
    anywhere.quoting = Quoting::kAnywhere;
    expect_refused("different dialect", [&] { (void)index_records(input, anywhere, execution); });
}

TEST(Contract, OnlyWhatASnapshotHasCanBeLeftOut) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    Input input = Input::open(path);
    expect_refused("leave_out()", [&] { input.leave_out(0); });
    input = Input::open_snapshot(path);
    expect_refused("leave_out()", [&] { input.leave_out(kText.size() + 1); });
    input.leave_out(kText.size());
    EXPECT_EQ(input.left_out(), kText.size());
    expect_refused("leave_out()", [&] { input.leave_out(1); });
}

TEST(Contract, APathWithANulByteIsRefused) {
    const std::string path("a\0b", 3);
    expect_refused("NUL", [&] { (void)Input::open(path); });
    expect_refused("NUL", [&] { const PieceNamer namer(path + "{i}", "in.csv", 1, std::nullopt); });
}

TEST(Contract, APieceThatTheNamerDoesNotKnowIsRefused) {
    const PieceNamer namer("{i}.csv", "in.csv", 1, 2);
    Piece piece;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{3}}) {
        piece.number = number;
        expect_refused("piece " + std::to_string(number), [&] { (void)namer.name(piece); });
    }
}

class JobContract : public testing::Test {
protected:
    JobContract() { job_.output.names = directory_.path("{i}.csv"); }

    void expect_job_refused(const std::string& part) {
        expect_refused(part, [&] { run_job(input_, job_, watcher_); });
        EXPECT_EQ(directory_.files().size(), 1U);
    }

    TemporaryDirectory directory_;
    Input input_ = Input::open(directory_.write("in.csv", kText));
    Job job_ = by_records(1);
    Watcher watcher_;
};

TEST_F(JobContract, ACompressionLevelThatThereIsNotIsRefused) {
    for (const Compression format : {Compression::kGzip, Compression::kZstd}) {
        for (const int level : {least_level(format) - 1, most_level(format) + 1}) {
            job_.output.compression = {format, level};
            expect_job_refused("level");
        }
    }
}

TEST_F(JobContract, AFormatThatIsOnlyReadIsRefused) {
    for (const Compression format : {Compression::kXz, Compression::kBzip2, Compression::kLz4, Compression::kZip}) {
        job_.output.compression = {format};
        expect_job_refused("pieces cannot be compressed with " + std::string(compression_name(format)));
    }
}

TEST_F(JobContract, WhatNeedsTwoPassesIsRefusedInOne) {
    job_.passes = Passes::kOne;
    job_.output.resume = true;
    expect_job_refused("two passes");
    job_.output.resume = false;
    job_.output.clone = CloneMode::kAuto;
    expect_job_refused("two passes");
    job_.output.clone = CloneMode::kNever;
    job_.policy.alignment = kCloneAlignment;
    expect_job_refused("alignment");
    job_.policy.alignment = 0;
    input_ = Input::open_snapshot(input_.path());
    expect_job_refused("snapshot");
    NullSink sink;
    expect_refused("snapshot", [&] { (void)cut_stream(input_, {}, {}, by_records(1).policy, sink); });
}

TEST_F(JobContract, ATemplateThatGivesNoNamesIsRefused) {
    job_.output.names = directory_.path("{x}");
    expect_job_refused("{x}");
    job_.output.names = directory_.path("same");
    expect_job_refused("same");
}

// Everything that keeps a reference or a view refuses a temporary, and accepts an object that lives on.
template <class Kept>
constexpr bool kMakesInput = requires(Kept kept) {
    Input::of_memory(std::forward<Kept>(kept), std::string(), nullptr);
};

using OwnBytes = std::vector<std::uint8_t>;
using OwnArray = std::array<std::uint8_t, 4>;
using View = std::span<const std::uint8_t>;

static_assert(std::is_constructible_v<MemoryBlob, View> &&
              std::is_constructible_v<MemoryBlob, std::span<std::uint8_t>>);
static_assert(std::is_constructible_v<MemoryBlob, OwnBytes&> && std::is_constructible_v<MemoryBlob, const OwnArray&>);
static_assert(!std::is_constructible_v<MemoryBlob, OwnBytes> && !std::is_constructible_v<MemoryBlob, const OwnArray>);
static_assert(std::is_constructible_v<IndexView, View> && std::is_constructible_v<IndexView, const OwnBytes&>);
static_assert(!std::is_constructible_v<IndexView, OwnBytes>);
static_assert(kMakesInput<View> && kMakesInput<OwnBytes&> && !kMakesInput<OwnBytes>);
static_assert(std::is_constructible_v<RangeBlob, const MemoryBlob&, int, int>);
static_assert(!std::is_constructible_v<RangeBlob, MemoryBlob, int, int>);
static_assert(std::is_constructible_v<RecordIndex, const MemoryBlob&, Dialect, Execution>);
static_assert(std::is_constructible_v<RecordIndex, View, Dialect, Execution>);
static_assert(std::is_constructible_v<RecordIndex, const OwnBytes&, Dialect, Execution>);
static_assert(!std::is_constructible_v<RecordIndex, MemoryBlob, Dialect, Execution>);
static_assert(!std::is_constructible_v<RecordIndex, OwnBytes, Dialect, Execution>);
static_assert(std::is_constructible_v<Locator, const RecordIndex&>);
static_assert(!std::is_constructible_v<Locator, RecordIndex>);
static_assert(std::is_constructible_v<StageWorker, const Stage&, const Kernel&>);
static_assert(!std::is_constructible_v<StageWorker, Stage, const Kernel&>);

// No member of a temporary lends something that dies with it.
template <class T>
concept LendsBytes = requires(T&& input) {
    std::forward<T>(input).bytes();
};
template <class T>
concept LendsBlob = requires(T&& input) {
    std::forward<T>(input).blob();
};
template <class T>
concept LendsHead = requires(T&& input) {
    std::forward<T>(input).peek(1);
};
template <class T>
concept LendsPath = requires(T&& input) {
    std::forward<T>(input).path();
};
template <class T>
concept LendsStream = requires(T&& input) {
    std::forward<T>(input).stream();
};
static_assert(LendsBytes<Input&> && LendsBlob<Input&> && LendsHead<Input&> && LendsPath<Input&> && LendsStream<Input&>);
static_assert(!LendsBytes<Input> && !LendsBlob<Input> && !LendsHead<Input> && !LendsPath<Input> && !LendsStream<Input>);
template <class T>
concept LendsRanges = requires(T&& pieces) {
    std::forward<T>(pieces).ranges(1);
};
static_assert(LendsRanges<PiecesByValue&> && !LendsRanges<PiecesByValue>);
static_assert(std::is_lvalue_reference_v<decltype(std::declval<PiecesByValue&>().pieces())>);
static_assert(!std::is_reference_v<decltype(std::declval<PiecesByValue>().pieces())>);
static_assert(!std::is_reference_v<decltype(std::declval<RecordIndex>().findings())>);

// Nor does a reader accept bytes that die before the block of records that it returns.
template <class Reader, class Bytes>
concept CanRead = requires(Reader& reader, Bytes&& bytes) {
    reader.read(std::forward<Bytes>(bytes), Place(), true);
};
static_assert(CanRead<FieldReader, std::vector<std::uint8_t>&> && CanRead<FieldReader, std::span<const std::uint8_t>>);
static_assert(!CanRead<FieldReader, std::vector<std::uint8_t>>);
static_assert(CanRead<StageWorker, std::vector<std::uint8_t>&> && !CanRead<StageWorker, std::vector<std::uint8_t>>);

// As in the command: a number names a column only if nothing about the columns was guessed, and all cores are used.
TEST(Defaults, AreThoseOfTheCommand) {
    EXPECT_EQ(Execution().thread_count(), usable_cores());
    EXPECT_GE(usable_cores(), 1U);
    const RecordIndex index(bytes_of(kText), Dialect(), Execution());
    const auto ignore = [](const Piece&) {};
    Policy policy;
    policy.records = 1;
    policy.together.emplace().column = {"#1", "test"};
    EXPECT_THROW(plan_pieces(index, policy, ignore), RuleError);
    policy.together->is_delimiter_given = policy.together->is_header_given = true;
    EXPECT_NO_THROW(plan_pieces(index, policy, ignore));
    policy = Policy();
    policy.by.emplace().columns = {"#1", "test"};
    EXPECT_THROW(PiecesByValue(index, policy), RuleError);
    policy.by->is_delimiter_given = policy.by->is_header_given = true;
    EXPECT_NO_THROW(PiecesByValue(index, policy));
    StageOptions options;
    options.rules = {{"#1: null", "test"}};
    EXPECT_THROW(Stage(options, Dialect(), bytes_of("a,b\n"), true), RuleError);
    options.is_delimiter_given = options.is_header_given = true;
    EXPECT_NO_THROW(Stage(options, Dialect(), bytes_of("a,b\n"), true));
}

TEST_F(JobContract, AStreamThatWasReadIsRefused) {
    Pipe pipe(kText, {4});
    input_ = Input::open(pipe.path());
    ASSERT_FALSE(input_.read().empty());
    expect_job_refused("after read()");
}

}  // namespace cleave::test::contract_test
