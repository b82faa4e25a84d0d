// The standard output of verbs that print records after rules have changed them, and the report of what the rules did.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/content_hash.h"
#include "cli/context.h"
#include "features/redact/command/lone_report.h"
#include "features/redact/lane/rewriting.h"

namespace cleave::cli {

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
