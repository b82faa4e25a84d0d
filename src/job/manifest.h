// Compares an existing manifest with the one of this run.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// The first difference between an existing manifest and the one of this run, in words. Nothing if they are equal. The
// members of PieceResult are not compared: they are known only when a piece is finished.
std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted);

// Throws OtherPieceError, with the difference, if the file of that path is a manifest of another job: input, dialect
// and cuts must be the same. Returns if there is no such file. Throws std::system_error. Call it before the pieces are
// compared: its message gives the reason.
void check_resumed(const std::string& path, const std::string& wanted);

}  // namespace cleave
