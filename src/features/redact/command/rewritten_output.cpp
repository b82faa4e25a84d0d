#include "features/redact/command/rewritten_output.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "cleave/keys.h"
#include "cli/diagnostics.h"
#include "cli/session.h"
#include "core/reader/fd.h"
#include "engine/plan_json.h"
#include "features/redact/run/input_hash.h"
#include "features/redact/run/signed_report.h"

namespace cleave::cli {

LoneReport::LoneReport(const Context& context, OpenInput& opened) : context_(context), opened_(opened) {
    const std::string& path = context.arguments.output.report;
    if (!path.empty()) file_.emplace(path, opened.input);
}

void LoneReport::publish(Json report, std::vector<ReportedFile> pieces) {
    if (!file_) return;
    if (!opened_.hash) return file_->publish(report.text() + "\n");
    const KeyRing& keys = *context_.keys;
    const std::string& key = context_.arguments.sign;
    const ReportedFiles files{reported_input(opened_.hash->finish(), keys, key), std::move(pieces), std::nullopt};
    file_->publish(signed_report(std::move(report), files, keys, key));
}

void LoneReport::commit() noexcept {
    if (file_) file_->commit();
}

void spool_staged(Context& context, OpenInput& opened) {
    if (!opened.input.is_stream()) return;
    if (!context.arguments.stage.may_spool && !opened.input.peek(1).empty()) throw SpoolError();
    spool(context, opened);
}

RewrittenOutput::RewrittenOutput(Context& context, OpenInput& opened)
    : context_(context),
      opened_(opened),
      rewriting_(opened.input, opened.dialect, context.arguments.policy, context.arguments.stage,
                 context.arguments.execution, [&context](const cleave::Stage& stage, std::uint64_t header_records) {
                     context.header_records = header_records;
                     Diagnostics(context).take(stage);
                 }) {
    report_.emplace(context, opened);
}

void RewrittenOutput::write(std::span<const std::uint8_t> bytes) {
    size_ += bytes.size();
    if (opened_.hash) hash_.add(bytes);
    write_all(STDOUT_FILENO, bytes, "write error", opened_.input.cancellation());
}

void RewrittenOutput::finish() {
    require_same(context_, opened_);
    InputFacts facts = facts_of(opened_.input, opened_.dialect, context_.arguments.policy.header);
    facts.size = size_;
    const StageCounts counts = rewriting_.counts();
    report_->publish(stage_report(rewriting_.stage(), counts, facts, 1),
                     {{kStandardStream, hash_.digest(), counts.records}});
    report_->commit();
}

}  // namespace cleave::cli
