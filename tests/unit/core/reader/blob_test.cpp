// Files read without a mapping: every job gives the same results as with the mapping, and a file that shrinks causes an
// error, never a signal. Nothing here holds a MappingGuard.
#include "cleave/blob.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "cleave/examine.h"
#include "cleave/plan_file.h"
#include "inputs.h"
#include "jobs.h"
#include "mapped_input.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::blob_test {

namespace fs = std::filesystem;

constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

constexpr HeaderMode kHeaderModes[] = {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone};

// Everything that one whole job finds and writes with this kind of access.
struct Outcome {
    Findings findings;
    Examination examination;
    cleave::Plan plan;
    std::map<std::string, std::string> files;
};

Execution execution_of(std::uint64_t seed) {
    constexpr std::size_t kBlockSizes[] = {1, 64, 1000, 5000, std::size_t{1} << 20};
    return {nullptr, static_cast<unsigned>(1 + seed % 3), kBlockSizes[seed % std::size(kBlockSizes)]};
}

Outcome run(const std::string& path, Access access, const Dialect& dialect, const Policy& policy, std::uint64_t seed,
            Compression compression = Compression::kNone) {
    const Execution execution = execution_of(seed);
    Outcome outcome;
    Input input = while_guarded([&] { return Input::open(path, nullptr, access); });
    EXPECT_EQ(input.is_mapped(), access == Access::kMapped);
    outcome.findings = scan(input, dialect, execution);
    outcome.examination = examine(input, dialect, execution, 10);
    PlanOptions options;
    options.dialect.dialect = dialect;
    options.dialect.sniff_delimiter = options.dialect.sniff_terminator = false;
    options.execution = execution;
    options.allow_open_quote = true;
    outcome.plan = plan(input, policy, options);
    const TemporaryDirectory out;
    Job job = job_of(policy, dialect);
    job.execution = execution;
    job.output.names = out.path("piece{i:4}");
    job.output.clone = CloneMode::kAuto;
    job.output.checksum = seed % 2 == 0;
    job.output.compression.format = compression;
    if (compression != Compression::kNone) job.output.compression.level = least_level(compression);
    job.allow_open_quote = true;
    Watcher watcher;
    watcher.on_found = [&](const Findings& findings) { EXPECT_EQ(findings, outcome.findings); };
    EXPECT_EQ(run_job(input, job, watcher).pieces, outcome.plan.pieces.size());
    outcome.files = out.files();
    // Run it again: complete pieces stay as they are.
    job.output.resume = true;
    run_job(input, job, watcher);
    EXPECT_EQ(out.files(), outcome.files);
    return outcome;
}

void expect_same(const Outcome& read, const Outcome& mapped) {
    EXPECT_EQ(read.findings, mapped.findings);
    EXPECT_EQ(read.examination, mapped.examination);
    EXPECT_EQ(read.plan.header_size, mapped.plan.header_size);
    EXPECT_EQ(read.plan.pieces, mapped.plan.pieces);
    EXPECT_EQ(read.files, mapped.files);
}

class ReadFileTest : public testing::Test {
protected:
    std::string write(const std::string& text) const { return directory_.write("in.csv", text); }

    TemporaryDirectory directory_;
};

TEST_F(ReadFileTest, AWholeJobIsThatOfTheMapping) {
    for (std::uint64_t seed = 0; seed < rounds(5); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            std::string text = "h" + random_text(random, dialect, 1 + random.below(seed == 3 ? 200'000 : 3000));
            if (random.chance(20)) text = kByteOrderMark + text;
            const std::string path = write(text);
            Policy policy;
            policy.header = kHeaderModes[random.below(4)];
            policy.pieces = 1 + random.below(8);
            if (random.chance(30)) policy.alignment = 512;
            const Compression compression = random.chance(10) ? Compression::kGzip : Compression::kNone;
            const Outcome read = run(path, Access::kRead, dialect, policy, seed, compression);
            expect_same(read, run(path, Access::kMapped, dialect, policy, seed, compression));
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// A block looks back through escapes, past the block before it and as far as the start of the input.
TEST_F(ReadFileTest, LongRunsOfEscapesAreReadBeforeTheBlock) {
    Dialect dialect;
    dialect.escape = '\\';
    for (const std::size_t length : {4095U, 4096U, 4097U, 4098U, 9001U}) {
        const std::string text = "a,\"b\n" + std::string(length, '\\') + "\"\n,x\n\"y\nz\",\"\n";
        const std::string path = write(text);
        for (const std::size_t block_size : {128U, 129U, 1000U, 4097U}) {
            Input input = Input::open(path, nullptr, Access::kRead);
            const Execution execution{nullptr, 1, block_size};
            EXPECT_EQ(scan(input, dialect, execution), RecordIndex(bytes_of(text), dialect, execution).findings());
        }
    }
}

TEST_F(ReadFileTest, LendsTheBytesThatWereAskedForIntoTheBuffer) {
    const std::string text = "0123456789";
    const Input input = Input::open(write(text), nullptr, Access::kRead);
    std::vector<std::uint8_t> buffer;
    for (std::size_t offset = 0; offset <= text.size(); ++offset) {
        for (std::size_t size = 0; size <= text.size() - offset; ++size) {
            const auto lent = input.blob().lend(offset, size, buffer);
            EXPECT_EQ(std::string(lent.begin(), lent.end()), text.substr(offset, size));
        }
    }
}

TEST_F(ReadFileTest, ATruncatedFileIsAnErrorWhereverItIsRead) {
    const std::string text = "h\n" + std::string(300'000, '\n');
    Policy policy;
    policy.pieces = 4;
    const auto truncated = [&](const auto& work) {
        const std::string path = write(text);
        Input input = Input::open(path, nullptr, Access::kRead);
        try {
            work(input, [&] { fs::resize_file(path, 10'000); });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const InputChangedError& error) {
            EXPECT_STREQ(error.what(), "input truncated while reading");
        }
    };
    const Execution execution{nullptr, 2, 4096};
    truncated([&](Input& input, const auto& truncate) {
        truncate();
        scan(input, Dialect{}, execution);
    });
    truncated([&](Input& input, const auto& truncate) {
        truncate();
        examine(input, Dialect{}, execution);
    });
    truncated([&](Input& input, const auto& truncate) {
        const RecordIndex index(input.blob(), Dialect{}, execution);
        truncate();
        Locator(index).start_of(200'000);
    });
    truncated([&](Input& input, const auto& truncate) {
        const TemporaryDirectory out;
        Watcher watcher([&](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == 2) truncate();
        });
        Job job = job_of(policy);
        job.output.names = out.path("{i}");
        try {
            run_job(input, job, watcher);
        } catch (const std::exception&) {
            EXPECT_TRUE(out.files().empty());
            throw;
        }
    });
}

// Without a guard, a copy from the mapping of a file that has become shorter would end the process.
TEST_F(ReadFileTest, ARangeIsReadAsWhatItIsARangeOf) {
    std::string text(300'000, 'x');
    for (std::size_t i = 0; i < text.size(); i += 7) text[i] = static_cast<char>('a' + i % 26);
    const std::string path = write(text);
    const Input input = open_mapped(path);
    const RangeBlob outer(input.blob(), 100'000, 250'000);
    const RangeBlob range(outer, 1'000, 120'000);
    EXPECT_GE(range.backing().descriptor, 0);
    EXPECT_EQ(range.backing().offset, 101'000U);
    const auto mapped = range.mapped(5, 1000);
    EXPECT_EQ(std::string(mapped.begin(), mapped.end()), text.substr(101'005, 1000));
    std::vector<std::uint8_t> bytes(1000);
    range.read(70'000, bytes);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text.substr(171'000, 1000));
    EXPECT_THROW(range.read(118'500, bytes), ArgumentError);
    fs::resize_file(path, 10'000);
    EXPECT_THROW(range.read(70'000, bytes), InputChangedError);

    const MemoryBlob memory(bytes_of(text));
    memory.read(170'000, bytes);
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text.substr(170'000, 1000));
    EXPECT_TRUE(memory.mapped(0, 10).empty());
    EXPECT_LT(memory.backing().descriptor, 0);
}

TEST_F(ReadFileTest, SnapshotsAndStreamsCanBeReadSoToo) {
    const std::string path = write("h\n1\nha");
    Input input = Input::open_snapshot(path, nullptr, Access::kRead);
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 2U);
    EXPECT_EQ(input.blob().size(), 4U);
    EXPECT_EQ(input.left_out(), 2U);
    const Input empty = Input::open_snapshot(write(""), nullptr, Access::kRead);
    EXPECT_EQ(empty.blob().size(), 0U);

    const Pipe pipe("h\n1\n2\n", {3});
    input = Input::open(pipe.path(), nullptr, Access::kRead);
    EXPECT_TRUE(input.is_stream());
    input.spool();
    EXPECT_FALSE(input.is_stream() || input.is_mapped());
    EXPECT_EQ(scan(input, Dialect{}, Execution{}).records, 3U);
    EXPECT_EQ(input.consumed(), 6U);
}

}  // namespace cleave::test::blob_test
