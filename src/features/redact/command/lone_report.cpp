#include "features/redact/command/lone_report.h"

#include <string>
#include <utility>

#include "cleave/keys.h"
#include "features/redact/run/input_hash.h"

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

}  // namespace cleave::cli
