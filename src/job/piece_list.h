// The pieces that are to be joined again: from a manifest, or as they are given.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cleave/plan.h"

namespace cleave {

// A piece, and what a manifest says of it. `size` (plain bytes, header included) and `crc32c` are null if nothing does.
struct ListedPiece {
    std::string path;
    Json size;
    Json crc32c;
};

struct PieceList {
    std::vector<ListedPiece> pieces;  // in order
    HeaderMode header = HeaderMode::kRepeat;
};

// Reads a manifest of `cleave split`. With `paths`, the pieces are these files, whatever their folders are called: each
// must have the name of one piece, and no piece may be missing. Throws InputError for a file that is no manifest,
// std::invalid_argument for other paths, and for pieces that do not follow each other in the input (Policy::by),
// std::system_error.
PieceList read_piece_list(const std::string& manifest, const std::vector<std::string>& paths);

}  // namespace cleave
