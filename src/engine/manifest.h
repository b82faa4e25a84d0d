// How a manifest names its pieces, and how an existing manifest is compared with the manifest of the current run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/names.h"

#include "core/reader/location.h"

namespace cleave {

// The names that a manifest gives to the pieces. If all pieces are beneath the folder of the manifest, the names are
// relative to that folder, so it can be moved together with its contents (version 2). Otherwise, or if the manifest
// goes to a stream, the names are the paths as given, relative to the folder in which the run was started (version 1).
// Only the spelling of paths counts; links are not followed. May be used from any thread.
class ManifestNames {
public:
    // Version 1.
    ManifestNames() = default;
    // `folder` is the folder of all pieces: PieceNamer::folder().
    ManifestNames(const std::string& manifest, const std::string& folder);

    bool are_beneath() const noexcept { return are_beneath_; }
    // The name of the piece at `path`.
    std::string of(const std::string& path) const;

private:
    Location folder_;  // the folder of the manifest
    bool are_beneath_ = false;
};

// Says in words where an existing manifest first differs from the manifest of this run. Returns nothing if they are
// equal. The members of PieceResult are not compared, because they are not known until a piece is finished.
std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted);

// Throws OtherPieceError, with the difference, if the file at `path` is not a manifest of the same job: the input, the
// dialect and the cuts must be the same. Returns if there is no such file. Throws SystemError. Call this before
// the pieces are compared, because its message gives the reason.
void check_resumed(const std::string& path, const std::string& wanted);

// Finds pieces of earlier runs that are still beside the pieces of this run, for instance because the earlier run had a
// different number of pieces. With rules, they may differ from what this run would write for the same records.

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
