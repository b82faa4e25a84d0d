// What follows from where pieces go. Who must know more of a target than PieceTarget says asks here: a new target has a
// row below, and one in JobOutput::make_target().
#pragma once

#include "cleave/output.h"

namespace cleave {

struct Destination {
    bool is_files;         // pieces are files, now or in the run that a dry run stands for
    bool has_plain_bytes;  // files have the bytes of the pieces as they are: compressing takes no time
    bool needs_place;      // PieceTarget::open() must be told where the piece starts and how long it is
    bool can_be_compared;  // PieceTarget::match_input() can tell
    bool prints;           // on standard output, while pieces are made
    bool starts_commands;  // which keep the rights of the user
    bool leaves_files;     // that a later run finds
};

inline Destination destination_of(const OutputOptions& options) {
    const bool is_dry = options.dry_run;
    if (!options.filter.empty()) {
        return {.is_files = false,
                .has_plain_bytes = false,
                .needs_place = true,
                .can_be_compared = is_dry,
                .prints = true,
                .starts_commands = true,
                .leaves_files = false};
    }
    return {.is_files = true,
            .has_plain_bytes = options.compression.format == Compression::kNone,
            .needs_place = is_dry,
            .can_be_compared = is_dry || !options.checksum,
            .prints = is_dry,
            .starts_commands = false,
            .leaves_files = !is_dry};
}

}  // namespace cleave
