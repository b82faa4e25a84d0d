// Standard output of verbs that print records as rules change them, and the report of what the rules did.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cli/context.h"
#include "lane/rewriting.h"
#include "write/lone_file.h"

namespace cleave::cli {

// Copies a stream that is needed as a whole to a temporary file. Throws SpoolError if that is not allowed, and as
// Input::spool().
void spool_staged(Context& context, OpenInput& opened);

// For one thread. What was printed before an error stays; the report appears at the end, or not at all.
class RewrittenOutput {
public:
    // Compiles the rules. The input has not been read. Throws as Rewriting and LoneFile.
    RewrittenOutput(Context& context, OpenInput& opened);

    Rewriting& rewriting() { return rewriting_; }
    // Writes to standard output. Throws std::system_error, Cancelled.
    void write(std::span<const std::uint8_t> bytes);
    // Checks that the input has not changed, and writes the report. To be called when everything is printed.
    void finish();

private:
    Context& context_;
    OpenInput& opened_;
    Rewriting rewriting_;
    std::optional<LoneFile> report_;
    std::uint64_t size_ = 0;  // bytes that were written
};

}  // namespace cleave::cli
