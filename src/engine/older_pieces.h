// Finds pieces of earlier runs that are still beside the pieces of this run, for instance because the earlier run had a
// different number of pieces. With rules, they may differ from what this run would write for the same records.
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
    // Looks for existing files that may be pieces: files with a name that the template could produce, for any number of
    // pieces, and files listed in the manifest at the path `manifest`, if that is a manifest. Looks only in
    // PieceNamer::folder(), and not at all if that has more than 16,384 names. Leaves out the input. Ignores what
    // cannot be opened. Where the template has {value}, a name may show a value, and counts only if it may. Throws
    // SystemError.
    OlderPieces(const PieceNamer& namer, const std::string& manifest, const std::string& input, bool may_show_values);

    // Takes a file off the list because it is a piece of this run, or becomes one.
    void take_out(const std::string& path);

    // How messages should name the files that are still on the list: with their paths if the template could produce
    // them; otherwise, because the name may contain a value, as "piece N of the older MANIFEST".
    std::vector<std::string> texts() const;

private:
    void add_named(const PieceNamer& namer, bool may_show_values);
    void add_listed(const std::string& manifest, const PieceNamer& namer);
    void add(const std::string& path, const std::string& text);

    std::map<std::string, std::string> pieces_;  // maps absolute paths to texts
};

}  // namespace cleave
