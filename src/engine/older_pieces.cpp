#include "engine/older_pieces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

#include "base/json.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"
#include "engine/beneath.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNames = 16'384;

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); }

// Returns the manifest, or JSON null if there is none that can be read.
Json read_manifest(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open() || !S_ISREG(stat_of(file.get(), path).st_mode)) return nullptr;
    return parse_json(read_to_end(file.get(), std::string::npos, path)).value_or(nullptr);
}

}  // namespace

OlderPieces::OlderPieces(const PieceNamer& namer, const std::string& manifest, const std::string& input,
                         bool may_show_values) {
    add_named(namer, may_show_values);
    if (!manifest.empty()) add_listed(manifest, namer);
    take_out(input);
}

void OlderPieces::add_named(const PieceNamer& namer, bool may_show_values) {
    const std::string folder = namer.folder();
    struct stat status;
    if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0) return;  // the run will create it
    const auto names = names_in(Directory(folder), kMostNames);
    if (!names) return;
    for (const std::string& name : *names) {
        const std::string path = folder + name;
        if (namer.could_name(path) || (may_show_values && namer.could_name_by_value(path))) add(path, path);
    }
}

void OlderPieces::add_listed(const std::string& manifest, const PieceNamer& namer) {
    const Json json = read_manifest(manifest);
    const Json* const version = json.find("cleave");
    const Json* const pieces = json.find("pieces");
    if (version == nullptr || pieces == nullptr || pieces->array() == nullptr) return;
    const std::string folder(*version == Json(2) ? folder_of(manifest) : "");
    std::uint64_t number = 0;
    for (const Json& piece : *pieces->array()) {
        ++number;
        const Json* const name = piece.find("name");
        if (name == nullptr || name->string() == nullptr) continue;
        const std::string path = folder + *name->string();
        const bool is_harmless = namer.could_name(path);
        add(path, is_harmless ? path : "piece " + std::to_string(number) + " of the older " + manifest);
    }
}

void OlderPieces::take_out(const std::string& path) {
    if (!pieces_.empty()) pieces_.erase(absolute(path));
}

std::vector<std::string> OlderPieces::texts() const {
    std::vector<std::string> texts;
    texts.reserve(pieces_.size());
    for (const auto& piece : pieces_) texts.push_back(piece.second);
    return texts;
}

void OlderPieces::add(const std::string& path, const std::string& text) {
    struct stat status;
    if (path.find('\0') != std::string::npos || ::lstat(path.c_str(), &status) != 0) return;
    if (S_ISREG(status.st_mode)) pieces_.emplace(absolute(path), text);
}

}  // namespace cleave
