// Pieces as files: all of them with the right bytes, or none and everything as before.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "cleave/error.h"
#include "cleave/split.h"
#include "inputs.h"
#include "io/copy.h"
#include "pipe_input.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

constexpr HeaderMode kHeaderModes[] = {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone};

std::string table(unsigned records, std::size_t width = 1) {
    std::string text = "id,text\n";
    for (unsigned i = 0; i < records; ++i) text += std::to_string(i) + ",\"a\n" + std::string(width, 'b') + "\"\n";
    return text;
}

// Pieces of at least this size are written by several threads.
constexpr std::size_t kWide = 70'000;

Policy by_records(std::uint64_t records, HeaderMode header = HeaderMode::kRepeat) {
    Policy policy;
    policy.records = records;
    policy.header = header;
    return policy;
}

enum class Way : std::uint8_t { kMapped, kStream, kInOrder };

// Splits a text into the directory: a file by its plan, a stream, or a file as it is read. All must do the same, but
// for the width of {i}.
class WriteTest : public testing::TestWithParam<Way> {
protected:
    void split(const std::string& text, const Policy& policy, const SplitOptions& options = {},
               const std::string& name_template = "piece{i:6}") const {
        const TemporaryDirectory elsewhere;
        if (GetParam() == Way::kStream) {
            Pipe pipe(text, {4096});
            split_in_order(pipe.path(), policy, options, name_template);
        } else if (GetParam() == Way::kInOrder) {
            split_in_order(elsewhere.write("in.csv", text), policy, options, name_template);
        } else {
            split_file(elsewhere.write("in.csv", text), policy, options, name_template);
        }
    }

    void split_in_order(const std::string& path, const Policy& policy, const SplitOptions& options,
                        const std::string& name_template) const {
        Input input = Input::open(path);
        const PieceNamer namer(directory_.path(name_template), "-", 1, policy.pieces);
        split_stream(input, Dialect{}, Execution{}, policy, namer, options, [](const Findings&) {});
    }

    void split_file(const std::string& path, const Policy& policy, const SplitOptions& options = {},
                    const std::string& name_template = "piece{i:6}", const Cancellation* cancellation = nullptr) const {
        Input input = Input::open(path, cancellation);
        if (!input.is_mapped()) input.spool();
        const RecordIndex index(input.bytes(), Dialect{}, Execution{});
        std::vector<Piece> pieces;
        const std::uint64_t header_size =
            plan_pieces(index, policy, [&](const Piece& piece) { pieces.push_back(piece); });
        const PieceNamer namer(directory_.path(name_template), path, 1, pieces.size());
        split_mapped(input, pieces, policy.header, header_size, namer, options);
    }

    // Makes `options.finished` throw at that piece.
    static SplitOptions failing_at(std::uint64_t number, SplitOptions options = {}) {
        options.finished = [number](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == number) throw std::runtime_error("failed on purpose");
        };
        return options;
    }

    Files files() const { return directory_.files(); }

    TemporaryDirectory directory_;
};

std::string name_of(const testing::TestParamInfo<Way>& way) {
    constexpr std::array kNames = {"Mapped", "Stream", "InOrder"};
    return kNames.at(static_cast<std::size_t>(way.param));
}

INSTANTIATE_TEST_SUITE_P(, WriteTest, testing::Values(Way::kMapped, Way::kStream, Way::kInOrder), name_of);

TEST_P(WriteTest, JoinedPiecesAreTheInput) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        Random random(seed);
        const std::string text = random_csv(random, Dialect{}, random.below(600'000), 0);
        for (const HeaderMode header : kHeaderModes) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", header mode " << static_cast<int>(header));
            Policy policy;
            policy.header = header;
            policy.size = 5000 + random.below(150'000);
            const TemporaryDirectory unused;
            SplitOptions options;
            options.threads = 1 + static_cast<unsigned>(random.below(4));
            options.replace = true;
            for (const auto& [name, content] : files()) fs::remove(directory_.path(name));
            split(text, policy, options);

            const std::size_t header_size =
                header == HeaderMode::kNone ? 0 : read_by_rules(text, Dialect{}).start_of(1).offset;
            const std::string head = text.substr(0, header_size);
            std::string joined = header == HeaderMode::kNone || header == HeaderMode::kFirst ? "" : head;
            for (const auto& [name, content] : files()) {
                const bool repeated = header == HeaderMode::kRepeat;
                if (repeated) {
                    EXPECT_EQ(content.substr(0, header_size), head) << name;
                }
                joined += content.substr(repeated ? header_size : 0);
            }
            EXPECT_TRUE(joined == text);
        }
    }
}

TEST_P(WriteTest, WritesEveryPieceUnderItsName) {
    split("h\na\nb\nc\n", by_records(2));
    EXPECT_EQ(files(), (Files{{"piece000001", "h\na\nb\n"}, {"piece000002", "h\nc\n"}}));
}

TEST_P(WriteTest, WritesLongHeadersIntoEveryPiece) {
    const std::string header = "\"" + std::string(3 << 20, '\n') + "\"\n";
    split(header + "a\nb\n", by_records(1));
    const Files written = files();
    ASSERT_EQ(written.size(), 2U);
    EXPECT_TRUE(written.at("piece000001") == header + "a\n");
    EXPECT_TRUE(written.at("piece000002") == header + "b\n");
}

TEST_P(WriteTest, ReportsPiecesInOrder) {
    std::vector<std::uint64_t> numbers;
    std::vector<std::string> paths;
    SplitOptions options;
    options.threads = 4;
    options.finished = [&](const Piece& piece, const std::string& path, const PieceResult&) {
        EXPECT_TRUE(fs::exists(path));
        numbers.push_back(piece.number);
        paths.push_back(path);
    };
    split(table(60, kWide), by_records(1), options);
    std::vector<std::uint64_t> expected(60);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(numbers, expected);
    EXPECT_EQ(paths.at(41), directory_.path("piece000042"));
}

TEST_P(WriteTest, FailureInTheMiddleLeavesNothing) {
    directory_.write("old", "old");
    for (const unsigned threads : {1U, 4U}) {
        for (const std::uint64_t number : {1U, 2U, 15U, 30U}) {
            SplitOptions options = failing_at(number);
            options.threads = threads;
            EXPECT_THROW(split(table(30, kWide), by_records(1), options), std::runtime_error);
            EXPECT_EQ(files(), (Files{{"old", "old"}})) << number;
        }
    }
}

TEST_P(WriteTest, FailureRemovesTheDirectoriesItMade) {
    fs::create_directory(directory_.path("there"));
    SplitOptions options = failing_at(3);
    options.make_directories = true;
    EXPECT_THROW(split(table(9), by_records(1), options, "there/made/{i}/deep/piece{i:6}"), std::runtime_error);
    EXPECT_EQ(files(), (Files{{"there/", ""}}));
    options.finished = [](const Piece&, const std::string&, const PieceResult&) {};
    split("h\na\n", by_records(1), options, "there/made/piece{i:6}");
    EXPECT_EQ(files(), (Files{{"there/", ""}, {"there/made/", ""}, {"there/made/piece000001", "h\na\n"}}));
}

TEST_P(WriteTest, MissingDirectoryIsNamed) {
    try {
        split(table(3), by_records(1), {}, "missing/piece{i:6}");
        FAIL() << "wrote into a directory that is not there";
    } catch (const std::invalid_argument& error) {
        EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
    }
    EXPECT_EQ(files(), Files{});
}

TEST_P(WriteTest, TakenNameLeavesEverythingAsItWas) {
    for (const char* name : {"piece000001", "piece000005", "piece000009"}) {
        directory_.write(name, "old");
        EXPECT_THROW(split(table(9), by_records(1)), std::system_error);
        EXPECT_EQ(files(), (Files{{name, "old"}}));
        fs::remove(directory_.path(name));
    }
}

TEST_P(WriteTest, LinksAreNames) {
    const TemporaryDirectory elsewhere;
    const std::string target = elsewhere.write("target", "old");
    fs::create_symlink(target, directory_.path("piece000002"));
    fs::create_symlink(elsewhere.path("nothing"), directory_.path("piece000003"));
    EXPECT_THROW(split(table(3), by_records(1)), std::system_error);
    EXPECT_FALSE(fs::exists(directory_.path("piece000001")));
    EXPECT_TRUE(fs::is_symlink(directory_.path("piece000002")));
    EXPECT_TRUE(fs::is_symlink(directory_.path("piece000003")));

    // Replacing a link does not touch what it points at.
    SplitOptions options;
    options.replace = true;
    split("h\na\nb\nc\n", by_records(1), options);
    EXPECT_EQ(files(), (Files{{"piece000001", "h\na\n"}, {"piece000002", "h\nb\n"}, {"piece000003", "h\nc\n"}}));
    EXPECT_FALSE(fs::is_symlink(directory_.path("piece000002")));
    EXPECT_EQ(elsewhere.files(), (Files{{"target", "old"}}));
}

TEST_P(WriteTest, ReplacesFilesWhenAllowed) {
    directory_.write("piece000001", "old and longer than the new one");
    directory_.write("other", "old");
    SplitOptions options;
    options.replace = true;
    split("h\na\n", by_records(1), options);
    EXPECT_EQ(files(), (Files{{"other", "old"}, {"piece000001", "h\na\n"}}));
}

TEST_P(WriteTest, NeverReplacesDirectories) {
    directory_.write("piece000003", "old");
    fs::create_directory(directory_.path("piece000002"));
    SplitOptions options;
    options.replace = true;
    EXPECT_THROW(split(table(3), by_records(1), options), std::system_error);
    EXPECT_EQ(files(), (Files{{"piece000002/", ""}, {"piece000003", "old"}}));
}

TEST(SplitMapped, NeverReplacesTheInput) {
    const std::string text = table(5);
    for (const std::string kind : {"itself", "symbolic link", "hard link"}) {
        const TemporaryDirectory directory;
        const std::string path = directory.write(kind == "itself" ? "piece3" : "in.csv", text);
        if (kind == "symbolic link") fs::create_symlink(path, directory.path("piece3"));
        if (kind == "hard link") fs::create_hard_link(path, directory.path("piece3"));
        const Files before = directory.files();
        Input input = Input::open(path);
        std::vector<Piece> pieces;
        const RecordIndex index(input.bytes(), Dialect{}, Execution{});
        plan_pieces(index, by_records(1), [&](const Piece& piece) { pieces.push_back(piece); });
        SplitOptions options;
        options.replace = true;
        const PieceNamer namer(directory.path("piece{i}"), path, 1, pieces.size());
        EXPECT_THROW(split_mapped(input, pieces, HeaderMode::kRepeat, 8, namer, options), OutputError) << kind;
        EXPECT_EQ(directory.files(), before) << kind;
    }
}

TEST(SplitMapped, RefusesTwoPiecesOfOneName) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a\n");
    Input input = Input::open(path);
    const Piece pieces[] = {{1, 0, 2, 1, 1, false}, {2, 2, 0, 2, 0, false}, {3, 2, 0, 2, 0, false}};
    const PieceNamer namer(directory.path("piece{start}"), path, 1, 3);
    EXPECT_THROW(split_mapped(input, pieces, HeaderMode::kNone, 0, namer, {}), std::invalid_argument);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", "a\n"}}));
}

TEST(CheckSplit, ThrowsAsASplitWouldAndTouchesNothing) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a\nb\n");
    directory.write("piece2", "old");
    const Files before = directory.files();
    const Input input = Input::open(path);
    const Piece pieces[] = {{1, 0, 2, 1, 1, false}, {2, 2, 2, 2, 1, false}};
    const auto check = [&](const std::string& name_template, const SplitOptions& options) {
        check_split(input, pieces, HeaderMode::kNone, 0, PieceNamer(directory.path(name_template), path, 1, 2),
                    options);
    };
    EXPECT_THROW(check("piece{i}", {}), std::system_error);
    EXPECT_THROW(check("missing/{i}", {}), std::invalid_argument);
    SplitOptions options;
    options.replace = options.make_directories = true;
    EXPECT_NO_THROW(check("piece{i}", options));
    EXPECT_NO_THROW(check("missing/{i}", options));
    EXPECT_EQ(directory.files(), before);
}

TEST(SplitInOrder, FindsATakenNameBeforeItWrites) {
    const TemporaryDirectory directory;
    Input input = Input::open(directory.write("in.csv", table(100)));
    directory.write("piece4", "mine");
    Policy policy;
    policy.pieces = 4;
    SplitOptions options;
    options.finished = [](const Piece&, const std::string& path, const PieceResult&) { ADD_FAILURE() << path; };
    const PieceNamer namer(directory.path("piece{i}"), "in.csv", 1, 4);
    const auto split = [&] { split_stream(input, {}, {}, policy, namer, options, [](const Findings&) {}); };
    EXPECT_THROW(split(), std::system_error);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", table(100)}, {"piece4", "mine"}}));
}

TEST(SplitMapped, StopsWhenCancelled) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", table(100));
    Cancellation cancellation;
    Input input = Input::open(path, &cancellation);
    std::vector<Piece> pieces;
    const RecordIndex index(input.bytes(), Dialect{}, Execution{});
    plan_pieces(index, by_records(1), [&](const Piece& piece) { pieces.push_back(piece); });
    SplitOptions options;
    options.finished = [&](const Piece& piece, const std::string&, const PieceResult&) {
        if (piece.number == 7) cancellation.request();
    };
    const PieceNamer namer(directory.path("piece{i}"), path, 1, pieces.size());
    EXPECT_THROW(split_mapped(input, pieces, HeaderMode::kRepeat, 8, namer, options), Cancelled);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", table(100)}}));
}

TEST(SplitStream, IsJudgedBeforeItIsFinal) {
    const TemporaryDirectory directory;
    Pipe pipe("h\na\n\"b\n", {4096});
    Input input = Input::open(pipe.path());
    const PieceNamer namer(directory.path("piece{i}"), "-", 1, std::nullopt);
    const auto refuse = [&](const Findings& findings) {
        EXPECT_EQ(findings.records, 3U);
        EXPECT_EQ(directory.files().size(), 2U);  // the first piece and the marker of the run; the last is not ended
        throw OpenQuoteError(findings.open_quote.value());
    };
    EXPECT_THROW(split_stream(input, Dialect{}, Execution{}, by_records(1), namer, {}, refuse), OpenQuoteError);
    EXPECT_EQ(directory.files(), Files{});
}

// Within a file system, and to another one if there is one in memory: as far as the system copies, it copies right.
TEST(CopyBySystem, AppendsTheRange) {
    const TemporaryDirectory directory;
    Random random(1);
    const std::string text = random_noise(random, "abcdef\n", 300'000);
    const Input input = Input::open(directory.write("in", text));
    for (const std::string& target : {directory.path("out"), std::string("/dev/shm/.cleave-write-test")}) {
        const Fd file(::open(target.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
        if (!file.is_open()) continue;
        fs::remove(target);
        write_all(file.get(), bytes_of("before"), target);
        const std::uint64_t copied = copy_by_system(input.blob(), {12'345, 234'567}, file.get(), target, nullptr);
        std::string content(6 + copied + 1, '\0');
        ASSERT_EQ(::pread(file.get(), content.data(), content.size(), 0), static_cast<ssize_t>(6 + copied));
        content.pop_back();
        EXPECT_TRUE(content == "before" + text.substr(12'345, copied));
    }
}

}  // namespace
}  // namespace cleave::test
