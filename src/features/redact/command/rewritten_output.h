// The standard output of verbs that print records after rules have changed them, and the report of what the rules did.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/content_hash.h"
#include "base/json.h"
#include "cli/context.h"
#include "core/writer/lone_file.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/run/signed_report.h"

namespace cleave::cli {

// The report on what the rules did, for verbs that write no files of pieces. Signed if the user wants that.

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

// Copies a stream that is needed as a whole to a temporary file. Throws what Input::spool() throws, and SpoolError if
// spooling is not allowed.
void spool_staged(Context& context, OpenInput& opened);

// For use by one thread. What was printed before an error stays printed; the report appears at the end, or not at all.
class RewrittenOutput {
public:
    // Compiles the rules. Precondition: the input has not been read. Throws what Rewriting and LoneReport throw.
    RewrittenOutput(Context& context, OpenInput& opened);

    Rewriting& rewriting() { return rewriting_; }
    // Writes to standard output. Throws SystemError, Cancelled.
    void write(std::span<const std::uint8_t> bytes);
    // Checks that the input has not changed, and writes the report. Call once everything has been printed.
    void finish();

private:
    Context& context_;
    OpenInput& opened_;
    Rewriting rewriting_;
    std::optional<LoneReport> report_;
    std::uint64_t size_ = 0;  // bytes written
    ContentHash hash_;        // of these bytes, if the report is signed
};

}  // namespace cleave::cli
