// The properties of a run that depend on where its pieces go. Code that needs to know more about a target than
// PieceTarget reveals looks here. A new kind of target needs a row below, and one in JobOutput::make_target().
#pragma once

#include "cleave/output.h"
#include "core/reader/location.h"

namespace cleave {

struct Destination {
    bool is_files;         // pieces are files or objects, in this run or in the real run that a dry run stands for
    bool is_store;         // pieces are objects in a store
    bool has_plain_bytes;  // files contain the bytes of the pieces unchanged, so compression takes no time
    bool needs_place;      // PieceTarget::open() must be told where the piece starts and how long it is
    bool can_be_compared;  // PieceTarget::match_input() works
    bool prints;           // prints to standard output while pieces are being written
    bool starts_commands;  // starts commands that need all the rights of the user
    bool leaves_files;     // leaves files that a later run finds
};

inline Destination destination_of(const OutputOptions& options) {
    const bool is_dry = options.dry_run;
    if (!options.filter.empty()) {
        return {.is_files = false,
                .is_store = false,
                .has_plain_bytes = false,
                .needs_place = true,
                .can_be_compared = is_dry,
                .prints = true,
                .starts_commands = true,
                .leaves_files = false};
    }
    const bool is_store = Location::is_url(options.names);
    return {.is_files = true,
            .is_store = is_store,
            .has_plain_bytes = options.compression.format == Compression::kNone,
            .needs_place = is_dry,
            .can_be_compared = !is_store && (is_dry || !options.checksum),
            .prints = is_dry,
            .starts_commands = false,
            .leaves_files = !is_dry && !is_store};
}

// Throws ArgumentError if cleave/output.h does not allow the options, which callers of the library pass in.
void check(const OutputOptions& options);

}  // namespace cleave
