// Pieces of earlier runs that stay beside those of this run: of another number of pieces, say. Under rules they are not
// what this run would make of the same records.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cleave/names.h"

namespace cleave {

// For one thread at a time.
class OlderPieces {
public:
    OlderPieces() = default;
    // Looks for files that are there now and may be pieces: those with a name that the template could give, with any
    // number of pieces, and those that the manifest at the path lists, if that is one. Looks at no folder of more than
    // 16,384 names, and only into PieceNamer::folder(). Leaves out the input. What cannot be opened is not there.
    // Throws std::system_error.
    OlderPieces(const PieceNamer& namer, const std::string& manifest, const std::string& input);

    // The file is, or becomes, a piece of this run.
    void take_out(const std::string& path);

    // What to call those that were not taken out: the path where the template could give that name, or else, because
    // the name may hold a value, "piece N of the older MANIFEST".
    std::vector<std::string> texts() const;

private:
    void add_named(const PieceNamer& namer);
    void add_listed(const std::string& manifest, const PieceNamer& namer);
    void add(const std::string& path, const std::string& text);

    std::map<std::string, std::string> pieces_;  // texts by the absolute path
};

}  // namespace cleave
