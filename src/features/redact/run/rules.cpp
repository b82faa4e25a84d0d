#include "engine/rules.h"

#include <utility>

#include "base/text_bytes.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/run/input_hash.h"
#include "features/redact/run/rewritten_records.h"
#include "features/redact/run/signed_report.h"
#include "features/redact/run/stage_report.h"
#include "features/redact/run/written_files.h"
#include "features/redact/stage/program.h"

namespace cleave {
namespace {

ContentDigest content_of(const std::string& text) {
    ContentHash hash;
    hash.add(bytes_of(text));
    return hash.digest();
}

class StageReport final : public RulesReport {
public:
    explicit StageReport(const JobContext& context) : context_(context) {
        const OutputOptions& output = context.job.output;
        if (context.signing == nullptr) return;
        name_in_report(output.report, output.names);  // now rather than after the pieces are written
        if (!output.manifest.empty()) name_in_report(output.report, output.manifest);
    }

    FileWatchers* watchers() override { return context_.signing != nullptr ? &files_ : nullptr; }

    std::string text(const InputFacts& facts, const std::string& manifest) override {
        const JobReport& report = context_.report;
        const OutputOptions& output = context_.job.output;
        Json json = stage_report(context_.rewriting->stage(), report.counts, facts, report.pieces);
        if (context_.signing == nullptr) return json.text() + "\n";
        ReportedFiles files;
        const auto& [keys, key, input] = *context_.signing;
        files.input = reported_input(input.finish(), keys, key);
        for (auto& [number, file] : files_.take()) {
            files.pieces.push_back({name_in_report(output.report, file.path), std::move(file.content), file.records});
        }
        if (!output.manifest.empty()) {
            files.manifest = {name_in_report(output.report, output.manifest), content_of(manifest), {}};
        }
        return signed_report(std::move(json), files, keys, key);
    }

private:
    const JobContext context_;
    WrittenFiles files_;
};

}  // namespace

bool needs_two_passes(const JobRules& rules) { return has_suppress(rules.options.rules); }

std::shared_ptr<Rewriting> compile_rules(Input& input, const Dialect& dialect, const Policy& policy, const Job& job,
                                         JobObserver& observer) {
    return std::make_shared<Rewriting>(
        input, dialect, policy, job.stage, job.execution,
        [&](const Stage& stage, std::uint64_t header_records) { observer.compiled(stage, header_records); });
}

std::shared_ptr<InputHash> make_input_hash(Input& input) { return std::make_shared<InputHash>(input); }

StageCounts counts_of(const Rewriting& rewriting) { return rewriting.counts(); }

std::unique_ptr<PieceBytes> make_rewritten_records(const JobContext& context) {
    return std::make_unique<RewrittenRecords>(context);
}

Findings cut_in_order(Rewriting& rewriting, PieceSink& sink) { return rewriting.cut_in_order(sink); }

std::unique_ptr<RulesReport> make_rules_report(const JobContext& context) {
    return std::make_unique<StageReport>(context);
}

}  // namespace cleave
