#include "engine/piece_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string_view>
#include <system_error>

#include "cleave/error.h"
#include "core/reader/fd.h"
#include "core/reader/location.h"
#include "core/reader/temporary_file.h"
#include "core/writer/stream_path.h"
#include "engine/beneath.h"
#include "engine/plan_json.h"

namespace cleave {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw InputError("not a manifest made by cleave split: " + why); }

const Json& member(const Json& object, const char* name) {
    const Json* value = object.find(name);
    if (value == nullptr) refuse("it has no '" + std::string(name) + "'");
    return *value;
}

Json member_or_null(const Json& object, const char* name) {
    const Json* value = object.find(name);
    return value == nullptr ? Json() : *value;
}

HeaderMode mode_of(const Json& header) {
    const auto mode = header_mode_named(member(header, "mode"));
    if (!mode) refuse("its header mode is unknown");
    return *mode;
}

// Returns nothing if the dialect is not known.
std::optional<Dialect> dialect_of(const Json& manifest, const PieceList& list) {
    const Json* const json = manifest.find("dialect");
    std::optional<Dialect> dialect = json == nullptr ? std::nullopt : dialect_of_json(*json);
    if (!dialect) return dialect;
    if (list.header == HeaderMode::kDrop) dialect->preamble = 0;
    if (dialect->preamble > list.header_size.value_or(0)) refuse("its header is shorter than its preamble");
    return dialect;
}

// The name of a file or an object, without the folders; the URL of a web server may end with a signature.
std::string last_component(const Location& location) {
    const std::string shown = location.is_bucket() ? location.name() : location.bare();
    return shown.substr(shown.rfind('/') + 1);
}

// Rejects pieces that do not follow each other in the input. Pieces by value do not, because their records come from
// all over it. If the manifest does not say where pieces start, their order is not checked.
void require_order(const Json::Array& pieces) {
    std::optional<std::uint64_t> end;
    for (const Json& piece : pieces) {
        const auto start = member_or_null(piece, "start").natural();
        const auto length = member_or_null(piece, "length").natural();
        if (!start || !length) return;
        if (*length == 0) continue;
        if (end && *end != *start) {
            throw ArgumentError(
                "join: the pieces in the manifest are not consecutive, so they do not make up the input; without "
                "--manifest they are joined in the order given");
        }
        end = *start + *length;
    }
}

void require_columns(const Json& manifest) {
    const Json* const dropped = manifest.find("dropped_columns");
    if (dropped == nullptr) return;
    if (dropped->string() == nullptr) refuse("its 'dropped_columns' is not text");
    throw ArgumentError("join: the pieces in the manifest lack the column " + *dropped->string() +
                        ", so they do not make up the input; without --manifest they are joined in the order given");
}

// Returns 1 or 2.
std::uint64_t version_of(const Json& manifest) {
    const auto version = member(manifest, "cleave").natural();
    if (!version) refuse("its 'cleave' is not a version");
    if (*version < 1 || *version > 2) refuse("it is of version " + std::to_string(*version));
    return *version;
}

// Sets the paths of a piece that is named only in the manifest. A manifest from elsewhere chooses no files here, and no
// manifest chooses servers; a web server may take more than a name from a URL.
void place(ListedPiece& piece, std::uint64_t version, const Location& manifest, const std::string& folder) {
    const auto beneath = path_beneath("", piece.location.name());
    const bool is_near = manifest.is_bucket() ? version == 2 : !manifest.is_url() && !piece.location.is_url();
    if (!beneath || !is_near) {
        const char* why = manifest.is_url() ? "' is not known to be beside it" : "' is outside the current folder";
        throw ArgumentError("join: the piece '" + piece.location.bare() + why + "; list the pieces after the manifest");
    }
    piece.beneath = *beneath;
    piece.location = Location(folder + *beneath);
    if (piece.location.is_stream()) piece.location = Location("./-");  // a file, not standard input
}

// Replaces the names from the manifest with the given paths.
void find_pieces(std::vector<ListedPiece>& pieces, const LocationList& paths) {
    std::map<std::string, Location> by_name;
    for (const Location& path : paths.all()) {
        if (!by_name.emplace(last_component(path), path).second) {
            throw ArgumentError("join: two pieces have the name '" + last_component(path) + "'");
        }
    }
    for (ListedPiece& piece : pieces) {
        const auto found = by_name.find(last_component(piece.location));
        if (found == by_name.end()) {
            throw ArgumentError("join: the piece '" + piece.location.name() + "' in the manifest is missing");
        }
        piece.location = found->second;
        by_name.erase(found);
    }
    if (by_name.empty()) return;
    throw ArgumentError("join: '" + by_name.begin()->second.bare() + "' is not a piece in the manifest");
}

}  // namespace

PieceList read_piece_list(const Location& manifest, std::string_view text, const LocationList& paths) {
    const auto json = parse_json(text);
    if (!json) refuse("it is not JSON");
    const std::uint64_t version = version_of(*json);
    PieceList list;
    if (version == 2) list.folder = Location(folder_beside(manifest.name()));
    const Json& header = member(*json, "header");
    list.header = mode_of(header);
    if (const Json* length = header.find("length")) {
        list.header_size = length->natural();
        if (!list.header_size) refuse("its header length is not a number");
    }
    list.dialect = dialect_of(*json, list);
    require_columns(*json);
    list.has_several_inputs = json->find("inputs") != nullptr;
    if (const Json* const rejects = json->find("rejects")) list.rejects_crc32c = member_or_null(*rejects, "crc32c");
    const Json::Array* pieces = member(*json, "pieces").array();
    if (pieces == nullptr) refuse("its 'pieces' is not a list");
    require_order(*pieces);
    for (const Json& piece : *pieces) {
        const std::string* name = member(piece, "name").string();
        if (name == nullptr || name->find('\0') != std::string::npos) refuse("the name of a piece is not text");
        const Json& size = member(piece, "size");
        if (version == 2 && !path_beneath("", *name)) refuse("the piece '" + *name + "' is not within its folder");
        if (version == 2 && !size.natural()) refuse("the piece '" + *name + "' has no size");
        list.pieces.push_back({Location(*name), "", size, member_or_null(piece, "crc32c")});
    }
    if (!paths.empty()) {
        find_pieces(list.pieces, paths);
    } else {
        for (ListedPiece& piece : list.pieces) place(piece, version, manifest, list.folder.name());
    }
    return list;
}

PieceOpener::PieceOpener(const PieceList& list)
    : folder_(list.folder.is_url() ? Fd() : open_folder(list.folder.name())) {}

Fd PieceOpener::open_beneath(const ListedPiece& piece) const {
    try {
        return cleave::open_beneath(folder_, piece.beneath, piece.location.name());
    } catch (const std::system_error& error) {
        const bool is_elsewhere =
            error.code() == std::errc::too_many_symbolic_link_levels || error.code() == std::errc::cross_device_link;
        if (is_elsewhere) {
            throw ArgumentError("join: a symbolic link leads to the piece '" + piece.location.name() +
                                "'; list the pieces after the manifest");
        }
        if (error.code() != std::errc::invalid_argument) throw;
        throw ArgumentError("join: the piece '" + piece.location.name() +
                            "' is not a regular file; list the pieces after the manifest");
    }
}

Input PieceOpener::open(const ListedPiece& piece, const Cancellation* cancellation) const {
    if (piece.beneath.empty()) return Input::open(piece.location.name(), cancellation, Access::kMapped);
    return Input::of_descriptor(open_beneath(piece).release(), piece.location.name(), cancellation, Access::kMapped);
}

void PieceOpener::require(const ListedPiece& piece) const {
    if (!piece.beneath.empty()) {
        open_beneath(piece);
    } else if (!piece.location.is_stream() && ::access(piece.location.name().c_str(), R_OK) != 0) {
        throw_errno(piece.location.name());
    }
}

}  // namespace cleave
