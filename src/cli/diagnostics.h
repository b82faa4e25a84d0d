// Errors and warnings about the contents of an input, and how they are worded.
#pragma once

#include <cstdint>
#include <string>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/job.h"
#include "cleave/plan.h"
#include "cleave/rejects.h"
#include "cleave/scan.h"
#include "cleave/stage.h"
#include "cli/context.h"

namespace cleave::cli {

// Decides from the options whether to throw, to warn or to stay silent.
class Diagnostics {
public:
    explicit Diagnostics(Context& context) : context_(context) {}

    // Prints a remark or a warning about the current input. Prints nothing under --quiet.
    void remark(const std::string& text) const;
    void warn(const std::string& text) const { remark("warning: " + text); }

    // Warns if the first bytes of the input contradict the dialect.
    void take(const SniffedDialect& sniffed) const;

    // Notes how many records belong to the header. Throws InputError with the place in its message, or warns.
    void take(const Findings& findings) const;

    // Reports that a preamble is left out and, if some columns have rules, which ones have none and stay as they are.
    void take(const cleave::Stage& stage) const;

    // Throws InputError under --strict-size if the piece is too large.
    void take(const Piece& piece) {
        if (piece.oversize) take_oversize(piece);
    }

    // Warns about files of earlier runs left next to the pieces.
    void take(const JobReport& report) const;

    // Warns if records were rejected.
    void take(const RejectCounts& counts) const;

    // Warns about the pieces that are too large.
    void conclude() const;

private:
    void take_oversize(const Piece& piece);
    // Of several inputs, an error is about the one that has the place.
    std::string describe(Place place, bool is_of_error) const;
    static std::string open_quote_text(const std::string& place);
    std::string describe_oversize(const Piece& piece) const;

    Context& context_;
    std::uint64_t oversize_count_ = 0;
    Piece first_oversize_;
};

// The message for a header that is too large for the pieces.
std::string describe(const Context& context, const HeaderSizeError& error);

}  // namespace cleave::cli
