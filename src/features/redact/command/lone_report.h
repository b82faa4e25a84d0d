// The report on what the rules did, for verbs that write no files of pieces. Signed if the user wants that.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "cli/context.h"
#include "core/writer/lone_file.h"
#include "features/redact/run/signed_report.h"

namespace cleave::cli {

// For use by one thread.
class LoneReport {
public:
    // Does nothing, now and later, if the user wants no report. Throws what LoneFile throws.
    LoneReport(const Context& context, OpenInput& opened);

    // Call this once the input has been read to its end. `report` comes from stage_report(); `pieces` is for a signed
    // report. Throws what LoneFile::publish(), InputHash::finish() and signed_report() throw.
    void publish(Json report, std::vector<ReportedFile> pieces);

    // Call this after publish(), when the run has succeeded: the file stays.
    void commit() noexcept;

private:
    const Context& context_;
    OpenInput& opened_;
    std::optional<LoneFile> file_;
};

}  // namespace cleave::cli
