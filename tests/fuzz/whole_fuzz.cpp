// A whole split, from a file or a stream to pieces and a manifest on disk: the pieces join to give the input; they
// start at boundaries that the reference finds and obey the policy; the manifest and the observer report what is on
// disk; and a refused run leaves nothing behind.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "checksum_reference.h"
#include "choices.h"
#include "cleave/foreign.h"
#include "csv_mutator.h"
#include "filled_pipe.h"
#include "gzip_members.h"
#include "jobs.h"
#include "plan_check.h"
#include "temporary_directory.h"

namespace cleave::test {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTextSize = 250;

enum class Source : std::uint8_t { kMapped, kRead, kStream };

struct Case {
    Job job;
    Dialect dialect;  // for the job, sniffed or not
    Source source;
    bool allow_open_quote;
    std::array<std::size_t, 2> part_sizes{};  // for a stream
    std::size_t text_at;
    std::string text;
};

Policy make_policy(Choices& choices) {
    Policy policy;
    policy.header = choices.header_mode();
    const std::size_t kind = choices.below(5);
    if (kind >= 3) {
        policy.pieces = 1 + choices.below(8);
        if (kind == 4) policy.balance = Balance::kRecords;
    } else {
        if (kind != 0) policy.records = 1 + choices.below(20);
        if (kind != 1) policy.max_bytes = 20 + choices.below(100);
    }
    return policy;
}

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    Case made;
    Dialect dialect = choices.dialect();
    dialect.header = choices.header_record();
    if (choices.one_in(8)) dialect.preamble = 1 + choices.below(20);
    made.job = job_of(make_policy(choices), dialect);
    if (choices.one_in(4)) made.job.dialect.sniff_delimiter = made.job.dialect.sniff_terminator = true;
    made.source = static_cast<Source>(choices.below(3));
    made.job.execution.kernel = kKernels[choices.below(kKernels.size())];
    made.job.execution.threads = choices.one_in(4) ? 2 + choices.byte() % 3 : 1;
    made.job.execution.block_size = 1 + choices.below(300);
    made.job.passes = made.source == Source::kStream || needs_index(made.job.policy)
                          ? Passes::kAuto
                          : std::array{Passes::kAuto, Passes::kOne, Passes::kTwo}[choices.below(3)];
    made.job.output.checksum = choices.one_in(2);
    if (choices.one_in(8)) made.job.output.compression = {Compression::kGzip, 1};
    made.allow_open_quote = choices.one_in(2);
    for (std::size_t& size : made.part_sizes) size = 1 + choices.below(100);
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    made.dialect = settle_dialect(made.job.dialect, bytes_of(made.text), "in.csv").dialect;
    return made;
}

// What a run leaves behind, and what it reports.
struct Outcome {
    std::map<std::string, std::string> files;
    Plan plan;
    std::vector<PieceResult> results;
    JobReport report;
};

// From the template {i:4}.
std::string name_of(const Piece& piece) {
    const std::string number = std::to_string(piece.number);
    return std::string(4 - number.size(), '0') + number;
}

class Runner {
public:
    // Runs the job and removes the files that it creates. If run_job() throws, expects that it has left no files, and
    // rethrows.
    Outcome run(const Case& made) {
        Outcome outcome;
        Watcher watcher([&](const Piece& piece, const std::string& path, const PieceResult& result) {
            EXPECT_EQ(path, out_.path(name_of(piece)));
            outcome.plan.pieces.push_back(piece);
            outcome.results.push_back(result);
        });
        Job job = made.job;
        job.allow_open_quote = made.allow_open_quote;
        job.output.names = out_.path("{i:4}");
        job.output.manifest = out_.path("manifest");
        try {
            if (made.source == Source::kStream) {
                const FilledPipe pipe(made.text, 0, made.part_sizes);
                Input input = Input::open(pipe.path());
                outcome.report = run_job(input, job, watcher);
            } else {
                const Access access = made.source == Source::kRead ? Access::kRead : Access::kMapped;
                Input input = Input::open(in_.write("in.csv", made.text), nullptr, access);
                outcome.report = run_job(input, job, watcher);
            }
        } catch (const std::exception&) {
            EXPECT_TRUE(out_.files().empty());
            throw;
        }
        outcome.plan.header_size = outcome.report.header_size;
        outcome.files = out_.files();
        for (const auto& [name, content] : outcome.files) std::filesystem::remove(out_.path(name));
        return outcome;
    }

private:
    TemporaryDirectory in_;
    TemporaryDirectory out_;
};

void expect_plan(const Case& made, const Plan& plan) {
    const PlanCheck check(made.text, made.dialect, made.job.policy);
    if (made.job.policy.balance == Balance::kRecords) {
        check.expect_equal_records(plan);
    } else if (made.job.policy.pieces) {
        check.expect_shares(plan);
    } else {
        check.expect_limits(plan);
    }
}

void expect_pieces(const Case& made, const Outcome& outcome) {
    const HeaderMode mode = header_mode(made.job.policy.header, made.dialect);
    const std::string header = made.text.substr(0, outcome.plan.header_size);
    std::string joined = header;
    for (std::size_t i = 0; i < outcome.plan.pieces.size(); ++i) {
        const Piece& piece = outcome.plan.pieces[i];
        const std::string body = made.text.substr(piece.start, piece.length);
        // A preamble goes into every piece, even if there is no header.
        const bool has_header = mode == HeaderMode::kRepeat || mode == HeaderMode::kNone ||
                                (mode == HeaderMode::kFirst && piece.number == 1);
        const std::string& file = outcome.files.at(name_of(piece));
        const PieceResult& result = outcome.results[i];
        const bool is_packed = made.job.output.compression.format == Compression::kGzip;
        const std::string content = is_packed ? gunzip(file).value_or("no gzip") : file;
        EXPECT_EQ(content, (has_header ? header : "") + body) << printed(piece);
        EXPECT_EQ(result.size, content.size());
        EXPECT_EQ(result.stored, is_packed ? std::optional<std::uint64_t>(file.size()) : std::nullopt);
        EXPECT_EQ(result.crc32c, made.job.output.checksum ? std::optional(crc32c_by_bits(content)) : std::nullopt);
        joined += body;
    }
    EXPECT_EQ(joined, made.text);
}

void expect_manifest(const Case& made, const Outcome& outcome) {
    const json manifest = json::parse(outcome.files.at("manifest"));
    EXPECT_EQ(manifest.at("cleave"), 2);
    EXPECT_EQ(manifest.at("input").at("size"), made.text.size());
    EXPECT_EQ(manifest.at("header").at("length"), outcome.plan.header_size);
    const json& pieces = manifest.at("pieces");
    ASSERT_EQ(pieces.size(), outcome.plan.pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = outcome.plan.pieces[i];
        EXPECT_EQ(pieces[i].at("piece"), piece.number);
        EXPECT_EQ(pieces[i].at("name"), name_of(piece));
        EXPECT_EQ(pieces[i].at("start"), piece.start);
        EXPECT_EQ(pieces[i].at("length"), piece.length);
        EXPECT_EQ(pieces[i].at("first_record"), piece.first_record);
        EXPECT_EQ(pieces[i].at("records"), piece.records);
        EXPECT_EQ(pieces[i].at("size"), outcome.results[i].size);
        EXPECT_EQ(pieces[i].contains("stored"), outcome.results[i].stored.has_value());
        EXPECT_EQ(pieces[i].contains("crc32c"), made.job.output.checksum);
        if (const auto sum = outcome.results[i].crc32c) {
            EXPECT_EQ(std::stoul(pieces[i].at("crc32c").get<std::string>(), nullptr, 16), *sum);
        }
    }
}

void fuzz(Choices choices) {
    static Runner runner;
    const Case made = make_case(choices);
    const auto bytes = bytes_of(made.text);
    if (foreign_format(bytes) || compression_of(bytes) != Compression::kNone) return;  // refused, or decompressed
    const Reading reading = read_by_rules(made.text, made.dialect);
    const PlanCheck check(made.text, made.dialect, made.job.policy);
    try {
        const Outcome outcome = runner.run(made);
        EXPECT_TRUE(check.has_plan());
        EXPECT_TRUE(made.allow_open_quote || !reading.open_quote());
        EXPECT_EQ(outcome.report.sniffed.dialect, made.dialect);
        EXPECT_EQ(outcome.report.findings.records, reading.starts.size());
        EXPECT_EQ(outcome.report.findings.open_quote, reading.open_quote());
        EXPECT_EQ(outcome.report.pieces, outcome.plan.pieces.size());
        EXPECT_EQ(outcome.files.size(), outcome.plan.pieces.size() + 1);
        expect_plan(made, outcome.plan);
        expect_pieces(made, outcome);
        expect_manifest(made, outcome);
    } catch (const OpenQuoteError&) {
        EXPECT_FALSE(made.allow_open_quote);
        EXPECT_TRUE(reading.open_quote());
    } catch (const HeaderSizeError&) {
        EXPECT_FALSE(check.has_plan());
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_csv({data, max_size}, size, seed, made.text_at, made.dialect);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
