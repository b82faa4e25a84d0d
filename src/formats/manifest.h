// How a manifest names its pieces; and the comparison of an existing manifest with the one of this run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// The names that a manifest gives to the pieces. If the pieces lie beneath the folder of the manifest, the names are
// relative to that folder, which can be moved with all that is in it: version 2. Otherwise, and if the manifest goes to
// a stream, they are the paths as they are, relative to the folder where the run was started: version 1. Names decide,
// not links. Any thread.
class ManifestNames {
public:
    // Version 1.
    ManifestNames() = default;
    // `folder` is where all pieces lie: PieceNamer::folder().
    ManifestNames(const std::string& manifest, const std::string& folder);

    bool are_beneath() const noexcept { return are_beneath_; }
    // `path` is that of a piece.
    std::string of(const std::string& path) const;

private:
    std::string folder_;  // of the manifest
    bool are_beneath_ = false;
};

// The first difference between an existing manifest and the one of this run, in words. Nothing if they are equal. The
// members of PieceResult are not compared: they are known only when a piece is finished.
std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted);

// Throws OtherPieceError, with the difference, if the file of that path is a manifest of another job: input, dialect
// and cuts must be the same. Returns if there is no such file. Throws std::system_error. Call it before the pieces are
// compared: its message gives the reason.
void check_resumed(const std::string& path, const std::string& wanted);

}  // namespace cleave
