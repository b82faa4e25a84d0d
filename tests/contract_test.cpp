// What the public headers forbid is refused at the boundary of the library: std::invalid_argument, with a message that
// names what is wrong.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cleave/examine.h"
#include "cleave/plan.h"
#include "cleave/split.h"
#include "inputs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

// Runs `call`, which must refuse its arguments with a message that holds `part`.
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

Policy by_records(std::uint64_t records) {
    Policy policy;
    policy.records = records;
    return policy;
}

// Sets an environment variable while it lives.
class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;
    ~Environment() { ::unsetenv(name_); }

private:
    const char* name_;
};

// Every public function that takes a dialect and an execution, and one that has no fault.
struct Job {
    Dialect dialect;
    Execution execution;
};

void expect_refused_by_all(const std::string& part, const Job& job) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", kText);
    const PieceNamer namer(directory.path("{i}.csv"), path, 1, std::nullopt);
    SplitOptions options;
    NullSink sink;
    {
        SCOPED_TRACE("RecordIndex");
        expect_refused(part, [&] { const RecordIndex index(bytes_of(kText), job.dialect, job.execution); });
    }
    for (const bool is_stream : {false, true}) {
        SCOPED_TRACE(is_stream ? "of a stream" : "of a mapped file");
        Pipe pipe(kText, {64});
        const auto open = [&] { return Input::open(is_stream ? pipe.path() : path); };
        Input input = open();
        expect_refused(part, [&] { (void)scan(input, job.dialect, job.execution); });
        expect_refused(part, [&] { (void)examine(input, job.dialect, job.execution); });
        if (!is_stream) continue;
        expect_refused(part, [&] { (void)cut_stream(input, job.dialect, job.execution, by_records(1), sink); });
        expect_refused(part, [&] {
            split_stream(input, job.dialect, job.execution, by_records(1), namer, options, [](const Findings&) {});
        });
    }
    EXPECT_EQ(directory.files().size(), 1U);
}

TEST(Contract, AFaultyDialectIsRefused) {
    Job job;
    job.dialect.quote = job.dialect.delimiter;
    expect_refused_by_all("the quote and the delimiter are the same byte", job);
    expect_refused("same byte", [&] { (void)field_values(bytes_of(kText), job.dialect); });
    job.dialect = {};
    job.dialect.escape = '\n';
    expect_refused_by_all("the escape cannot be a line break", job);
}

TEST(Contract, AFaultyMachineIsRefused) {
    Job job;
    job.execution.block_size = 0;
    expect_refused_by_all("block size", job);
    job.execution.block_size = kMaxBlockSize + 1;
    expect_refused_by_all("block size", job);
    job.execution = {};
    job.execution.threads = 0;
    expect_refused_by_all("thread", job);
}

TEST(Contract, AnUnknownKernelInTheEnvironmentIsRefused) {
    const Environment environment("CLEAVE_KERNEL", "abacus");
    expect_refused_by_all("no kernel 'abacus'", {});
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
    // The delimiter that is still to be found takes another byte than the quote.
    wanted.dialect.quote = ',';
    EXPECT_NE(settle_dialect(wanted, bytes_of(kText), "in.csv").dialect.delimiter, ',');
}

std::vector<std::pair<std::string, Policy>> faulty_policies() {
    std::vector<std::pair<std::string, Policy>> all;
    all.emplace_back("no limit", Policy{});
    all.emplace_back("at least 1", by_records(0));
    Policy policy;
    policy.size = 0;
    all.emplace_back("at least 1", policy);
    policy = {};
    policy.pieces = 0;
    all.emplace_back("at least 1", policy);
    policy.pieces = 2;
    policy.size = 10;
    all.emplace_back("exclude", policy);
    policy = by_records(1);
    policy.alignment = kMaxGridStep + 1;
    all.emplace_back("alignment", policy);
    return all;
}

TEST(Contract, AFaultyPolicyIsRefused) {
    const TemporaryDirectory directory;
    const RecordIndex index(bytes_of(kText), {}, {});
    const PieceNamer namer(directory.path("{i}.csv"), "in.csv", 1, std::nullopt);
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    NullSink sink;
    for (const auto& [part, policy] : faulty_policies()) {
        SCOPED_TRACE(part);
        expect_refused(part, [&] { plan_pieces(index, policy, [](const Piece&) { FAIL() << "a piece"; }); });
        expect_refused(part, [&] { (void)cut_stream(input, {}, {}, policy, sink); });
        expect_refused(part, [&] { split_stream(input, {}, {}, policy, namer, {}, [](const Findings&) {}); });
    }
    expect_refused("take", [&] { plan_pieces(index, by_records(1), nullptr); });
    EXPECT_TRUE(directory.files().empty());
}

TEST(Contract, APolicyThatNeedsTheWholeInputIsRefusedByStreams) {
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    NullSink sink;
    Policy by_pieces;
    by_pieces.pieces = 2;
    Policy aligned = by_records(1);
    aligned.alignment = 4096;
    expect_refused("whole input", [&] { (void)cut_stream(input, {}, {}, by_pieces, sink); });
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
    EXPECT_EQ(input.bytes().size(), kText.size());
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
    expect_refused("after read()", [&] { (void)cut_stream(input, {}, {}, by_records(1), sink); });
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
    EXPECT_EQ(moved.bytes().size(), kText.size());
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

// Every way to write the pieces of a mapped input, with something wrong.
class MappedContract : public testing::Test {
protected:
    void expect_split_refused(const std::string& part) {
        for (const auto& split : {check_split, split_mapped}) {
            expect_refused(part, [&] { split(input_, pieces_, HeaderMode::kRepeat, header_size_, namer_, options_); });
        }
        EXPECT_EQ(directory_.files().size(), 1U);
    }

    TemporaryDirectory directory_;
    Input input_ = Input::open(directory_.write("in.csv", kText));
    std::vector<Piece> pieces_ = {{1, 4, 4, 1, 1, false}, {2, 8, 4, 2, 1, false}};
    std::uint64_t header_size_ = 4;
    PieceNamer namer_{directory_.path("{i}.csv"), "in.csv", 1, 2};
    SplitOptions options_;
};

TEST_F(MappedContract, PiecesBeyondTheInputAreRefused) {
    pieces_[1].length = 5;
    expect_split_refused("piece 2");
    pieces_[1] = {2, 13, UINT64_MAX, 2, 1, false};
    expect_split_refused("piece 2");
}

TEST_F(MappedContract, PiecesThatAreNotNumberedInOrderAreRefused) {
    std::swap(pieces_[0], pieces_[1]);
    expect_split_refused("numbered");
}

TEST_F(MappedContract, AHeaderBeyondTheInputIsRefused) {
    header_size_ = kText.size() + 1;
    expect_split_refused("header");
}

TEST_F(MappedContract, NoThreadIsRefused) {
    options_.threads = 0;
    expect_split_refused("thread");
}

TEST_F(MappedContract, AManifestWithoutTextIsRefused) {
    options_.manifest = directory_.path("manifest.json");
    expect_split_refused("manifest_text");
}

TEST_F(MappedContract, AnEmptyFunctionIsRefused) {
    options_.finished = nullptr;
    expect_split_refused("finished");
}

TEST_F(MappedContract, ACompressionLevelThatThereIsNotIsRefused) {
    for (const Compression format : {Compression::kGzip, Compression::kZstd}) {
        for (const int level : {least_level(format) - 1, most_level(format) + 1}) {
            options_.compression = {format, level};
            expect_split_refused("level");
        }
    }
}

TEST_F(MappedContract, AStreamIsRefused) {
    Pipe pipe(kText, {64});
    input_ = Input::open(pipe.path());
    expect_refused("is a stream",
                   [&] { split_mapped(input_, pieces_, HeaderMode::kRepeat, header_size_, namer_, options_); });
    EXPECT_EQ(directory_.files().size(), 1U);
}

TEST_F(MappedContract, ASnapshotIsNotCutAsItIsRead) {
    NullSink sink;
    input_ = Input::open_snapshot(input_.path());
    expect_refused("snapshot", [&] { (void)cut_stream(input_, {}, {}, by_records(1), sink); });
    const PieceNamer namer(directory_.path("{i}.csv"), "in.csv", 1, std::nullopt);
    expect_refused("snapshot",
                   [&] { split_stream(input_, {}, {}, by_records(1), namer, options_, [](const Findings&) {}); });
    EXPECT_EQ(directory_.files().size(), 1U);
}

TEST(Contract, StreamsCheckTheirOptions) {
    const TemporaryDirectory directory;
    const PieceNamer namer(directory.path("{i}.csv"), "in.csv", 1, std::nullopt);
    Pipe pipe(kText, {64});
    Input input = Input::open(pipe.path());
    SplitOptions options;
    expect_refused("accept", [&] { split_stream(input, {}, {}, by_records(1), namer, options, nullptr); });
    options.threads = 0;
    expect_refused("thread",
                   [&] { split_stream(input, {}, {}, by_records(1), namer, options, [](const Findings&) {}); });
    EXPECT_TRUE(directory.files().empty());
}

}  // namespace
}  // namespace cleave::test
