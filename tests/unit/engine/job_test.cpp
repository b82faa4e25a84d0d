// A job tells its observer everything, in order, and an exception from the observer undoes everything.
#include "cleave/job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cleave/mapping_guard.h"
#include "engine/plan_json.h"
#include "inputs.h"
#include "jobs.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::job_test {

const std::string kText = "h\na\n\"b\nb\"\nc\n";

enum class Way : std::uint8_t { kTwoPasses, kOnePass, kStream, kSpooled };
constexpr Way kWays[] = {Way::kTwoPasses, Way::kOnePass, Way::kStream, Way::kSpooled};

class JobTest : public testing::TestWithParam<Way> {
protected:
    // Cuts the text into its three records, with a policy that suits the parameter.
    JobReport run(JobObserver& observer, const std::string& text = kText) {
        Job job = by_records(1);
        if (GetParam() == Way::kSpooled) {
            job = by_pieces(3);
            job.policy.header = HeaderMode::kDrop;
        }
        return run(std::move(job), observer, text);
    }

    JobReport run_by(HeaderMode header, const Dialect& dialect, const std::string& text, JobObserver& observer) {
        Job job = GetParam() == Way::kSpooled ? by_pieces(3, header) : by_records(1, header);
        job.dialect = settled_options(dialect);
        return run(std::move(job), observer, text);
    }

    JobReport run(Job job, JobObserver& observer, const std::string& text) {
        job.output.names = out_.path("piece{i:1}");
        job.output.manifest = out_.path("manifest");
        job.allow_open_quote = allow_open_quote_;
        job.passes = GetParam() == Way::kOnePass ? Passes::kOne : Passes::kTwo;
        if (GetParam() == Way::kOnePass || GetParam() == Way::kTwoPasses) {
            Input input = Input::open(in_.write("in.csv", text));
            return run_job(input, job, observer);
        }
        Pipe pipe(text, {5});
        Input input = Input::open(pipe.path());
        return run_job(input, job, observer);
    }

    TemporaryDirectory in_;
    TemporaryDirectory out_;
    bool allow_open_quote_ = false;
};

std::string name_of(const testing::TestParamInfo<Way>& way) {
    constexpr std::array kNames = {"TwoPasses", "OnePass", "Stream", "Spooled"};
    return kNames.at(static_cast<std::size_t>(way.param));
}

INSTANTIATE_TEST_SUITE_P(, JobTest, testing::ValuesIn(kWays), name_of);

TEST_P(JobTest, TellsEverythingInOrder) {
    std::vector<std::string> told;
    Watcher watcher;
    watcher.on_spooled = [&](std::uint64_t size) { told.push_back("spooled " + std::to_string(size)); };
    watcher.on_found = [&](const Findings& findings) { told.push_back("found " + std::to_string(findings.records)); };
    watcher.on_cut = [&](const Piece& piece) { told.push_back("cut " + std::to_string(piece.number)); };
    watcher.on_finished = [&](const Piece& piece, const std::string& path, const PieceResult& result) {
        EXPECT_EQ(path, out_.path("piece" + std::to_string(piece.number)));
        EXPECT_EQ(result.size, out_.files().at("piece" + std::to_string(piece.number)).size());
        EXPECT_FALSE(out_.files().contains("manifest"));
        told.push_back("finished " + std::to_string(piece.number));
    };
    watcher.on_concluded = [&](const JobReport& report) {
        EXPECT_TRUE(out_.files().contains("manifest"));
        told.push_back("concluded " + std::to_string(report.pieces));
    };
    const JobReport report = run(watcher);
    EXPECT_EQ(report.pieces, 3U);
    EXPECT_EQ(report.header_size, 2U);
    EXPECT_EQ(report.findings.records, 4U);
    EXPECT_EQ(report.sniffed.dialect, Dialect{});
    std::vector<std::string> wanted;
    if (GetParam() == Way::kSpooled) wanted.push_back("spooled " + std::to_string(kText.size()));
    if (GetParam() == Way::kTwoPasses || GetParam() == Way::kSpooled) {
        for (const char* call : {"found 4", "cut 1", "cut 2", "cut 3", "finished 1", "finished 2", "finished 3"}) {
            wanted.emplace_back(call);
        }
    } else {
        for (const char* call : {"cut 1", "finished 1", "cut 2", "finished 2", "cut 3", "found 4", "finished 3"}) {
            wanted.emplace_back(call);
        }
    }
    wanted.emplace_back("concluded 3");
    EXPECT_EQ(told, wanted);
}

TEST_P(JobTest, WhateverTheObserverThrowsTakesEverythingBack) {
    for (const char* member : {"found", "cut", "finished", "concluded"}) {
        Watcher watcher;
        const auto fail = [&](const char* here) {
            if (here == std::string(member)) throw std::runtime_error(member);
        };
        watcher.on_found = [&](const Findings&) { fail("found"); };
        watcher.on_cut = [&](const Piece& piece) {
            if (piece.number == 3) fail("cut");
        };
        watcher.on_finished = [&](const Piece& piece, const std::string&, const PieceResult&) {
            if (piece.number == 3) fail("finished");
        };
        watcher.on_concluded = [&](const JobReport&) { fail("concluded"); };
        EXPECT_THROW(run(watcher), std::runtime_error) << member;
        EXPECT_TRUE(out_.files().empty()) << member;
    }
}

// With a dialect that has no header, no mode writes one, and a preamble goes into every piece.
TEST_P(JobTest, APreambleIsInEveryPieceWhereTheDialectHasNoHeader) {
    Dialect dialect;
    dialect.header = HeaderRecord::kNone;
    dialect.preamble = 4;
    for (const HeaderMode header : {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone}) {
        JobObserver silent;
        run_by(header, dialect, "# p\na\nb\nc\n", silent);
        for (const auto& [name, text] : out_.files()) {
            if (name == "manifest") continue;
            EXPECT_EQ(text, std::string("# p\n") + static_cast<char>('a' + name.back() - '1') + "\n") << name;
            std::filesystem::remove(out_.path(name));
        }
        std::filesystem::remove(out_.path("manifest"));
    }
}

TEST_P(JobTest, AnOpenQuoteIsRefusedUnlessTheJobAllowsIt) {
    const std::string text = kText + "\"d";
    JobObserver silent;
    EXPECT_THROW(run(silent, text), OpenQuoteError);
    EXPECT_TRUE(out_.files().empty());
    allow_open_quote_ = true;
    EXPECT_TRUE(run(silent, text).findings.open_quote);
    EXPECT_FALSE(out_.files().empty());
}

TEST_P(JobTest, AnObserverIsNotNeeded) {
    Input input = Input::open(in_.write("in.csv", kText));
    Job job = by_records(1);
    job.output.names = out_.path("piece{i:1}");
    EXPECT_EQ(run_job(input, job).pieces, 3U);
    EXPECT_EQ(out_.files().size(), 3U);
}

TEST_P(JobTest, TheManifestIsThatOfTheFiles) {
    JobObserver silent;
    run(silent);
    const auto manifest = parse_json(out_.files().at("manifest"));
    ASSERT_TRUE(manifest);
    ASSERT_NE(manifest->find("pieces"), nullptr);
    const Json::Array* pieces = manifest->find("pieces")->array();
    ASSERT_EQ(pieces->size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string name = "piece" + std::to_string(i + 1);
        EXPECT_EQ(*(*pieces)[i].find("name"), Json(name));  // relative to the manifest's folder
        EXPECT_EQ(*(*pieces)[i].find("size"), Json(out_.files().at(name).size()));
    }
    EXPECT_EQ(*manifest->find("input")->find("size"), Json(kText.size()));
}

// With a stage, the pieces are the same however the input arrives, and for every number of threads and every block
// size.
class StageJobTest : public testing::Test {
protected:
    enum class Source : std::uint8_t { kMapped, kRead, kStream };

    // The pieces by name.
    std::map<std::string, std::string> run(Job job, Source source) {
        Watcher watcher;
        return run(std::move(job), source, watcher);
    }
    std::map<std::string, std::string> run(Job job, Source source, Watcher& watcher) {
        const TemporaryDirectory out;
        job.stage.options.rules.push_back({"b: mask(first=1)", "--redact"});
        job.stage.options.select = RuleText{"b,a", "--select"};
        job.stage.may_spool = true;
        job.output.names = out.path("{i:02}");
        if (source == Source::kStream) {
            Pipe pipe(text_, {7, 100});
            Input input = Input::open(pipe.path());
            run_job(input, job, watcher);
        } else {
            Input input = Input::open(path_, nullptr, source == Source::kRead ? Access::kRead : Access::kMapped);
            run_job(input, job, watcher);
        }
        return out.files();
    }

    static std::string make_text() {
        std::string text =
            "\xEF\xBB\xBF"
            "a,b\n";
        for (int i = 0; i < 200; ++i) {
            text += std::to_string(i) + (i % 7 == 0 ? ",\"x\ny, " : ",\"z") +
                    std::string(static_cast<std::size_t>(i % 23), '-') + "\"\r\n";
            if (i % 31 == 0) text += '\n';
        }
        return text + "last,one";
    }

    TemporaryDirectory in_;
    std::string text_ = make_text();
    std::string path_ = in_.write("in.csv", text_);
};

TEST_F(StageJobTest, TheWayOfTheInputChangesNothing) {
    Policy of_size;
    of_size.max_bytes = 300;
    const Job by_size = job_of(of_size);
    for (const Job& base : {by_records(17), by_pieces(5), by_size}) {
        const auto wanted = run(base, Source::kMapped);
        EXPECT_GT(wanted.size(), 3U);
        EXPECT_EQ(wanted.begin()->second.substr(0, 14),
                  "\xEF\xBB\xBF"
                  "b,a\n\"x****\"");
        for (const Source source : {Source::kMapped, Source::kRead, Source::kStream}) {
            for (const std::size_t block_size : {1U, 13U, 64U, 1000U, 1U << 20}) {
                for (const unsigned threads : {1U, 2U, 5U}) {
                    Job job = base;
                    job.execution.block_size = block_size;
                    job.execution.threads = threads;
                    EXPECT_EQ(run(job, source), wanted) << block_size << ", " << threads;
                }
            }
        }
    }
}

TEST_F(StageJobTest, CutsAreToldBeforehandOnlyWhereTheyAreMeasured) {
    Policy of_size;
    of_size.max_bytes = 300;
    for (const bool is_measured : {false, true}) {
        for (const Source source : {Source::kMapped, Source::kRead}) {
            std::vector<std::uint64_t> cut;
            std::vector<std::uint64_t> finished;
            Watcher watcher(
                [&](const Piece& piece, const std::string&, const PieceResult&) { finished.push_back(piece.length); });
            watcher.on_cut = [&](const Piece& piece) {
                EXPECT_TRUE(finished.empty());
                cut.push_back(piece.length);
            };
            run(is_measured ? job_of(of_size) : by_records(17), source, watcher);
            EXPECT_GT(finished.size(), 3U);
            EXPECT_EQ(cut, is_measured ? finished : std::vector<std::uint64_t>());
        }
    }
}

// If the pieces of a job go to commands, the report is the only file that the job creates.
TEST_F(StageJobTest, AReportBesideCommandsIsTakenBackIfTheJobFailsAfterwards) {
    const TemporaryDirectory out;
    Job job = by_records(50);
    job.stage.options.rules.push_back({"b: null", "--redact"});
    job.output.filter = "cat > /dev/null";
    job.output.report = out.path("report");
    for (const bool fails : {true, false}) {
        bool was_there = false;
        Watcher watcher;
        watcher.on_concluded = [&](const JobReport&) {
            was_there = out.files().contains("report");
            if (fails) throw std::runtime_error("failed on purpose");
        };
        Input input = Input::open(path_);
        if (fails) {
            EXPECT_THROW(run_job(input, job, watcher), std::runtime_error);
        } else {
            run_job(input, job, watcher);
        }
        EXPECT_TRUE(was_there);
        EXPECT_EQ(out.files().empty(), fails);
    }
}

// The open files without a name, by descriptor.
std::map<int, std::string> deleted_files() {
    std::map<int, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const std::string file = std::filesystem::read_symlink(entry.path(), error);
        if (!error && file.ends_with(" (deleted)")) files.emplace(std::stoi(entry.path().filename()), file);
    }
    return files;
}

// Empties the process's files that have no name, and returns how many there are. Skips those in `folder`: while the
// second piece is cut, another thread may be writing the first one.
unsigned empty_temporary_files(const std::string& folder, const std::set<int>& inherited) {
    unsigned count = 0;
    for (const auto& [descriptor, file] : deleted_files()) {
        if (file.starts_with(folder) || inherited.contains(descriptor)) continue;
        EXPECT_EQ(::ftruncate(descriptor, 0), 0) << file;
        ++count;
    }
    return count;
}

Job by_value() {
    Policy policy;
    policy.by.emplace().columns = {"k", "--by"};
    return job_of(policy);
}

TEST(DialectJson, WithAnUnknownNameIsNone) {
    Dialect escaping;
    escaping.escape = '\\';
    const Json json = dialect_json(escaping);
    EXPECT_TRUE(dialect_of_json(json));
    for (const char* name : {"quoting", "terminator", "escape_scope"}) {
        Json other = json;
        other[name] = "sideways";
        EXPECT_FALSE(dialect_of_json(other)) << name;
    }
}

// Bytes lost from a temporary file read as zeros. None of them may get into a piece that is kept.
TEST(ByValueJob, WhatATemporaryFileLosesIsAnErrorOfTheDisk) {
    const MappingGuard guard;
    std::set<int> inherited;  // the test runner's environment may have such files, too
    for (const auto& [descriptor, file] : deleted_files()) inherited.insert(descriptor);
    const TemporaryDirectory in;
    const std::string path = in.write("in.csv", "n,k\n1,a\n2,b\n3,a\n");
    for (const bool has_rules : {true, false}) {
        for (const bool resumes : {false, true}) {
            const TemporaryDirectory out;
            Job job = by_value();
            job.policy.by->drops_columns = !has_rules;
            if (has_rules) job.stage.options.rules.push_back({"n: null", "--redact"});
            if (has_rules) job.stage.options.rules.push_back({"k: keep", "--redact"});
            job.output.names = out.path("{value}");
            job.output.resume = resumes;
            Watcher watcher;
            watcher.on_cut = [&](const Piece& piece) {
                if (piece.number == 2) {
                    EXPECT_EQ(empty_temporary_files(out.path(""), inherited), 1U);
                }
            };
            Input input = Input::open(path);
            try {
                run_job(input, job, watcher);
                ADD_FAILURE() << "no error";
            } catch (const std::system_error& error) {
                EXPECT_EQ(error.code().value(), EIO) << error.what();
            }
            EXPECT_FALSE(out.files().contains("a") || out.files().contains("b"));
        }
    }
}

}  // namespace cleave::test::job_test
