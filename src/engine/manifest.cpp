#include "engine/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "base/json.h"
#include "cleave/output.h"
#include "core/reader/fd.h"
#include "core/reader/location.h"
#include "core/reader/temporary_file.h"
#include "core/writer/stream_path.h"
#include "engine/beneath.h"

namespace cleave {
namespace {

// The first member in which two objects differ, such as "input.size". `there` may have any members.
std::string differing_member(std::string key, const Json& there, const Json& wanted) {
    for (const auto& [member, value] : *wanted.object()) {
        const Json* other = there.find(member);
        if (other == nullptr || *other != value) return key.append(".").append(member);
    }
    return key;
}

// Compares two elements of 'pieces', ignoring their results. `there` may be any value.
bool is_same_plan(Json there, Json wanted) {
    for (Json* piece : {&there, &wanted}) {
        if (piece->object() == nullptr) continue;
        for (const char* member : {"stored", "crc32c"}) piece->erase(member);
    }
    return there == wanted;
}

std::string read_file(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file.is_open()) throw_errno(path);
    return read_to_end(file.get(), std::string::npos, path);
}

constexpr std::size_t kMostNames = 16'384;

std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal(); }

// Returns the manifest, or JSON null if there is none that can be read.
Json read_manifest(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file.is_open() || !S_ISREG(stat_of(file.get(), path).st_mode)) return nullptr;
    return parse_json(read_to_end(file.get(), std::string::npos, path)).value_or(nullptr);
}

}  // namespace

ManifestNames::ManifestNames(const std::string& manifest, const std::string& folder)
    : folder_(std::string(folder_of(manifest))),
      are_beneath_(folder_.is_url() || Location::is_url(folder)
                       ? folder_.is_url() && folder.starts_with(folder_.name())
                       : !leads_to_stream(manifest) && path_beneath(folder_.name(), folder + "piece").has_value()) {}

std::string ManifestNames::of(const std::string& path) const {
    if (are_beneath_ && folder_.is_url()) return path.substr(folder_.name().size());
    return are_beneath_ ? path_beneath(folder_.name(), path).value_or(path) : path;
}

std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted) {
    if (there == wanted) return std::nullopt;
    const std::optional<Json> a = parse_json(there);
    const std::optional<Json> b = parse_json(wanted);
    if (!a || a->find("cleave") == nullptr) return "not a manifest made by cleave";
    for (const auto& [key, value] : *b->object()) {
        const Json* other = a->find(key);
        if (other == nullptr) return "it has no '" + key + "'";
        if (*other == value) continue;
        if (value.object() != nullptr && other->object() != nullptr)
            return "its '" + differing_member(key, *other, value) + "' differs";
        const Json::Array* pieces = value.array();
        const Json::Array* others = other->array();
        if (key != "pieces" || pieces == nullptr || others == nullptr) return "its '" + key + "' differs";
        if (pieces->size() != others->size())
            return "it has " + std::to_string(others->size()) + " pieces, not " + std::to_string(pieces->size());
        const auto [piece, in_pieces] = std::ranges::mismatch(*others, *pieces, is_same_plan);
        if (piece == others->end()) continue;
        return "its piece " + std::to_string(piece - others->begin() + 1) + " differs";
    }
    return std::nullopt;
}

void check_resumed(const std::string& path, const std::string& wanted) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (const auto difference = manifest_difference(read_file(path), wanted)) {
        throw OtherPieceError(path, "is not the manifest of this run: " + *difference);
    }
}

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
