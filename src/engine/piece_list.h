// Lists the pieces to join, from a manifest or from paths or URLs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "core/reader/fd.h"
#include "core/reader/location.h"

namespace cleave {

// A piece, and what a manifest says about it. `size` (in plain bytes, including the header) and `crc32c` are null if
// unknown.
struct ListedPiece {
    Location location;  // a path is relative to the current folder
    // The name of the piece beneath PieceList::folder, if it is named only in the manifest. Empty if the user gave the
    // path.
    std::string beneath;
    Json size;
    Json crc32c;
};

struct PieceList {
    std::vector<ListedPiece> pieces;  // in order
    Location folder;                  // for pieces named only in the manifest; empty for the current folder
    HeaderMode header = HeaderMode::kRepeat;
    // What a manifest says about the pieces: their dialect, and the size in bytes of the header that all of them, or
    // only the first, begin with. The dialect has a preamble only if a piece has one.
    std::optional<Dialect> dialect;
    std::optional<std::uint64_t> header_size;
    bool has_several_inputs = false;
    Json rejects_crc32c;  // of the file of rejected records; null without any
};

// Reads `text`, a manifest written by `cleave split`, which is at `manifest`. With `paths`, the pieces are these files,
// whatever folders they are in: each file must have the name of one piece, and no piece may be missing. Without
// `paths`, the pieces are beneath the folder of the manifest (version 2) or beneath the current folder (version 1, or a
// manifest from a stream).
//
// Throws InputError if the text is not a manifest. Throws ArgumentError if `paths` do not match the pieces, if
// a piece of version 1 is outside the current folder, if the pieces do not follow each other in the input, or if they
// lack some of its columns (Policy::by).
PieceList read_piece_list(const Location& manifest, std::string_view text, const LocationList& paths);

// Opens the pieces of a list that are files. Use from one thread only.
class PieceOpener {
public:
    // `list` must outlive this object. Throws SystemError.
    explicit PieceOpener(const PieceList& list);

    // Throws like Input::open(). If the piece is named only in the manifest, also throws ArgumentError if it is
    // not a regular file beneath the list's folder or is reached through a symbolic link.
    Input open(const ListedPiece& piece, const Cancellation* cancellation) const;
    // Throws SystemError if the piece cannot be read, and throws like open(). Does not open a path that the user
    // gave, because it may be a pipe.
    void require(const ListedPiece& piece) const;

private:
    Fd open_beneath(const ListedPiece& piece) const;

    Fd folder_;
};

}  // namespace cleave
