// Pieces as files: either all of them exist with the right bytes, or none do and everything is as before.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "cleave/error.h"
#include "core/reader/copy.h"
#include "core/writer/threads.h"
#include "inputs.h"
#include "jobs.h"
#include "pipe_input.h"
#include "reference.h"
#include "temporary_directory.h"

namespace cleave::test::write_test {

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

enum class Way : std::uint8_t { kMapped, kStream, kInOrder };

// Splits a text into the directory: a file in two passes, a stream, or a file in one pass. All give the same result,
// except for the width of {i}.
class WriteTest : public testing::TestWithParam<Way> {
protected:
    void split(const std::string& text, Job job, JobObserver& observer,
               const std::string& name_template = "piece{i:6}") const {
        job.output.names = directory_.path(name_template);
        const TemporaryDirectory elsewhere;
        if (GetParam() == Way::kStream) {
            Pipe pipe(text, {4096});
            Input input = Input::open(pipe.path());
            run_job(input, job, observer);
        } else {
            Input input = Input::open(elsewhere.write("in.csv", text));
            job.passes = GetParam() == Way::kInOrder ? Passes::kOne : Passes::kTwo;
            run_job(input, job, observer);
        }
    }

    void split(const std::string& text, const Job& job, const std::string& name_template = "piece{i:6}") const {
        Watcher silent;
        split(text, job, silent, name_template);
    }

    // Throws when that piece is finished.
    static Watcher::Finished failing_at(std::uint64_t number) {
        return [number](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == number) throw std::runtime_error("failed on purpose");
        };
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
    for (std::uint64_t seed = 0; seed < (kSanitized ? 4 : 12); ++seed) {
        Random random(seed);
        const std::string text = random_csv(random, Dialect{}, random.below(600'000), 0);
        for (const HeaderMode header : kHeaderModes) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", header mode " << static_cast<int>(header));
            Policy policy;
            policy.header = header;
            policy.max_bytes = 5000 + random.below(150'000);
            const TemporaryDirectory unused;
            Job job = job_of(policy);
            job.execution.threads = 1 + static_cast<unsigned>(random.below(4));
            job.output.replace = true;
            for (const auto& [name, content] : files()) fs::remove(directory_.path(name));
            Watcher watcher;
            job.allow_open_quote = true;
            split(text, job, watcher);

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
    Watcher watcher([&](const Piece& piece, const std::string& path, const PieceResult&) {
        EXPECT_TRUE(fs::exists(path));
        numbers.push_back(piece.number);
        paths.push_back(path);
    });
    Job job = by_records(1);
    job.execution.threads = 4;
    split(table(60, kWide), job, watcher);
    std::vector<std::uint64_t> expected(60);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(numbers, expected);
    EXPECT_EQ(paths.at(41), directory_.path("piece000042"));
}

TEST_P(WriteTest, FailureInTheMiddleLeavesNothing) {
    directory_.write("old", "old");
    for (const unsigned threads : {1U, 4U}) {
        for (const std::uint64_t number : {1U, 2U, 15U, 30U}) {
            Watcher watcher(failing_at(number));
            Job job = by_records(1);
            job.execution.threads = threads;
            EXPECT_THROW(split(table(30, kWide), job, watcher), std::runtime_error);
            EXPECT_EQ(files(), (Files{{"old", "old"}})) << number;
        }
    }
}

TEST_P(WriteTest, FailureRemovesTheDirectoriesItMade) {
    fs::create_directory(directory_.path("there"));
    Watcher watcher(failing_at(3));
    Job job = by_records(1);
    job.output.make_directories = true;
    EXPECT_THROW(split(table(9), job, watcher, "there/made/{i}/deep/piece{i:6}"), std::runtime_error);
    EXPECT_EQ(files(), (Files{{"there/", ""}}));
    split("h\na\n", job, "there/made/piece{i:6}");
    EXPECT_EQ(files(), (Files{{"there/", ""}, {"there/made/", ""}, {"there/made/piece000001", "h\na\n"}}));
}

TEST_P(WriteTest, MissingDirectoryIsNamed) {
    try {
        split(table(3), by_records(1), "missing/piece{i:6}");
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

    // Replacing a link does not touch its target.
    Job job = by_records(1);
    job.output.replace = true;
    split("h\na\nb\nc\n", job);
    EXPECT_EQ(files(), (Files{{"piece000001", "h\na\n"}, {"piece000002", "h\nb\n"}, {"piece000003", "h\nc\n"}}));
    EXPECT_FALSE(fs::is_symlink(directory_.path("piece000002")));
    EXPECT_EQ(elsewhere.files(), (Files{{"target", "old"}}));
}

TEST_P(WriteTest, ReplacesFilesWhenAllowed) {
    directory_.write("piece000001", "old and longer than the new one");
    directory_.write("other", "old");
    Job job = by_records(1);
    job.output.replace = true;
    split("h\na\n", job);
    EXPECT_EQ(files(), (Files{{"other", "old"}, {"piece000001", "h\na\n"}}));
}

TEST_P(WriteTest, NeverReplacesDirectories) {
    directory_.write("piece000003", "old");
    fs::create_directory(directory_.path("piece000002"));
    Job job = by_records(1);
    job.output.replace = true;
    EXPECT_THROW(split(table(3), job), OutputError);
    EXPECT_EQ(files(), (Files{{"piece000002/", ""}, {"piece000003", "old"}}));
}

// Splits the file into pieces in the same directory; the observer may be null.
void split_beside(const TemporaryDirectory& directory, const std::string& path, Job job, const std::string& names,
                  JobObserver* observer = nullptr) {
    Input input = Input::open(path);
    job.output.names = directory.path(names);
    Watcher silent;
    run_job(input, job, observer != nullptr ? *observer : silent);
}

TEST(Write, NeverReplacesTheInput) {
    const std::string text = table(5);
    for (const std::string kind : {"itself", "symbolic link", "hard link"}) {
        const TemporaryDirectory directory;
        const std::string path = directory.write(kind == "itself" ? "piece3" : "in.csv", text);
        if (kind == "symbolic link") fs::create_symlink(path, directory.path("piece3"));
        if (kind == "hard link") fs::create_hard_link(path, directory.path("piece3"));
        const Files before = directory.files();
        Job job = by_records(1);
        job.output.replace = true;
        EXPECT_THROW(split_beside(directory, path, job, "piece{i}"), OutputError) << kind;
        EXPECT_EQ(directory.files(), before) << kind;
    }
}

TEST(Write, RefusesTwoPiecesOfOneName) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a\n");
    const Job job = by_pieces(3, HeaderMode::kNone);  // two of the pieces are empty
    EXPECT_THROW(split_beside(directory, path, job, "piece{start}"), std::invalid_argument);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", "a\n"}}));
}

TEST(Write, ADryRunThrowsAsTheRunWouldAndTouchesNothing) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", "a\nb\n");
    directory.write("piece2", "old");
    const Files before = directory.files();
    for (const Passes passes : {Passes::kOne, Passes::kTwo}) {
        Job job = by_records(1, HeaderMode::kNone);
        job.output.dry_run = true;
        job.passes = passes;
        EXPECT_THROW(split_beside(directory, path, job, "piece{i:1}"), std::system_error);
        EXPECT_THROW(split_beside(directory, path, job, "missing/{i}"), std::invalid_argument);
        job.output.replace = job.output.make_directories = true;
        for (const char* names : {"piece{i:1}", "missing/{i:1}"}) {
            std::vector<std::string> told;
            Watcher watcher([&](const Piece&, const std::string& name, const PieceResult& result) {
                told.push_back(fs::path(name).filename().string() + " " + std::to_string(result.size));
            });
            split_beside(directory, path, job, names, &watcher);
            const std::string stem = *names == 'p' ? "piece" : "";
            EXPECT_EQ(told, (std::vector<std::string>{stem + "1 2", stem + "2 2"}));
        }
    }
    EXPECT_EQ(directory.files(), before);
}

TEST(Write, InOnePassFindsATakenNameBeforeItWrites) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv", table(100));
    directory.write("piece4", "mine");
    Watcher watcher([](const Piece&, const std::string& name, const PieceResult&) { ADD_FAILURE() << name; });
    Job job = by_pieces(4);
    job.passes = Passes::kOne;
    EXPECT_THROW(split_beside(directory, path, job, "piece{i}", &watcher), std::system_error);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", table(100)}, {"piece4", "mine"}}));
}

TEST(Write, StopsWhenCancelled) {
    const TemporaryDirectory directory;
    Cancellation cancellation;
    Input input = Input::open(directory.write("in.csv", table(100)), &cancellation);
    Watcher watcher([&](const Piece& piece, const std::string&, const PieceResult&) {
        if (piece.number == 7) cancellation.request();
    });
    Job job = by_records(1);
    job.output.names = directory.path("piece{i}");
    EXPECT_THROW(run_job(input, job, watcher), Cancelled);
    EXPECT_EQ(directory.files(), (Files{{"in.csv", table(100)}}));
}

TEST(Write, AStreamIsJudgedBeforeItIsFinal) {
    const TemporaryDirectory directory;
    Pipe pipe("h\na\n\"b\n", {4096});
    Watcher watcher;
    watcher.on_found = [&](const Findings& findings) {
        EXPECT_EQ(findings.records, 3U);
        EXPECT_EQ(directory.files().size(),
                  2U);  // the first piece and the run's marker; the last piece is not finished
        throw OpenQuoteError(findings.open_quote.value());
    };
    EXPECT_THROW(split_beside(directory, pipe.path(), by_records(1), "piece{i}", &watcher), OpenQuoteError);
    EXPECT_EQ(directory.files(), Files{});
}

// Copies within a file system, and to a file system in memory if there is one: whatever the system copies is copied
// correctly.
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

TEST(Threads, AreAsManyAsHaveWork) {
    const auto threads_for_files = [](std::size_t count, std::uint64_t size, unsigned threads) {
        return threads_for(std::vector<Piece>(count, {1, 0, size}), threads);
    };
    EXPECT_EQ(threads_for({}, 8), 1U);
    EXPECT_EQ(threads_for_files(2, 0, 8), 1U);
    EXPECT_EQ(threads_for_files(16, 0, 8), 2U);
    EXPECT_EQ(threads_for_files(1000, 1, 8), 8U);
    EXPECT_EQ(threads_for_files(2, std::uint64_t{1} << 30, 3), 3U);
    EXPECT_EQ(threads_for_files(3, 1 << 18, 8), 3U);
}

}  // namespace cleave::test::write_test
