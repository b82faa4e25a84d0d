// The pieces that are to be joined again: from a manifest, or as they are given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "io/fd.h"

namespace cleave {

// A piece, and what a manifest says of it. `size` (plain bytes, header included) and `crc32c` are null if nothing does.
struct ListedPiece {
    std::string path;  // from the current folder
    // Where a manifest alone names the piece: its name beneath PieceList::folder. Empty if the user has given the path.
    std::string beneath;
    Json size;
    Json crc32c;
};

struct PieceList {
    std::vector<ListedPiece> pieces;  // in order
    std::string folder;               // of the pieces that a manifest alone names; empty is the current one
    HeaderMode header = HeaderMode::kRepeat;
    // What a manifest says of the pieces: how they are read, and how long the header is that begins all of them or the
    // first one, in bytes. The dialect has no preamble where no piece has one.
    std::optional<Dialect> dialect;
    std::optional<std::uint64_t> header_size;
};

// Reads a manifest of `cleave split`. With `paths`, the pieces are these files, whatever their folders are called: each
// must have the name of one piece, and no piece may be missing. Without them the pieces lie beneath the folder of the
// manifest (version 2) or the current folder (version 1, or a manifest from a stream). Throws InputError for a file
// that is no manifest, std::invalid_argument for other paths, for a piece of version 1 elsewhere, and for pieces that
// do not follow each other in the input, or lack columns of it (Policy::by), std::system_error.
PieceList read_piece_list(const std::string& manifest, const std::vector<std::string>& paths);

// Opens pieces of a list. One thread.
class PieceOpener {
public:
    // `list` must outlive this. Throws std::system_error.
    explicit PieceOpener(const PieceList& list);

    // Throws as Input::open(). A piece that the manifest alone names must be a regular file beneath the list's folder,
    // on a way without symbolic links: else throws std::invalid_argument.
    Input open(const ListedPiece& piece, const Cancellation* cancellation) const;
    // Throws std::system_error if the piece cannot be read, and as open(). Does not open a path of the user, which may
    // be a pipe.
    void require(const ListedPiece& piece) const;

private:
    Fd open_beneath(const ListedPiece& piece) const;

    Fd folder_;
};

}  // namespace cleave
