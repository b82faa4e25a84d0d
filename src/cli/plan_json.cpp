#include "cli/plan_json.h"
#include "cli/formatted.h"

#include <algorithm>

namespace cleave::cli {
namespace {

// A byte as a character: those above ASCII as Latin-1 has them.
Json byte_json(std::optional<std::uint8_t> byte) {
    if (!byte) return nullptr;
    if (*byte < 0x80) return std::string(1, static_cast<char>(*byte));
    return std::string{static_cast<char>(0xC0 | *byte >> 6), static_cast<char>(0x80 | (*byte & 0x3F))};
}

// "'input.size'", of two objects that are not the same; the first one may be anybody's.
std::string differing_member(const std::string& key, const Json& there, const Json& wanted) {
    for (const auto& [member, value] : *wanted.object()) {
        const Json* other = there.find(member);
        if (other == nullptr || *other != value) return formatted("'{}.{}'", key, member);
    }
    return formatted("'{}'", key);
}

void add_result(Json& json, const PieceResult& result) {
    if (result.stored) json["stored"] = *result.stored;
    if (result.crc32c) json["crc32c"] = formatted("{:08x}", *result.crc32c);
}

// Two elements of 'pieces', which may be anybody's.
bool is_same_plan(Json there, Json wanted) {
    for (Json* piece : {&there, &wanted}) {
        if (piece->object() == nullptr) continue;
        for (const char* member : {"stored", "crc32c"}) piece->erase(member);
    }
    return there == wanted;
}

}  // namespace

void PlanJson::add(const Piece& piece, const std::optional<PieceFile>& file) {
    if (!pieces_.empty()) pieces_ += ',';
    pieces_ += piece_json(piece, file).text();
}

std::string PlanJson::text(const InputFacts& facts) const {
    constexpr int kVersion = 1;
    Json json;
    json["cleave"] = kVersion;
    json["input"] = input_json(facts);
    json["dialect"] = dialect_json(facts.dialect);
    json["header"] = header_json(facts);
    if (facts.piece_compression.format != Compression::kNone) {
        Json& compression = json["compression"];
        compression["format"] = compression_name(facts.piece_compression.format);
        compression["level"] = facts.piece_compression.level;
    }
    std::string text = json.text();
    text.pop_back();  // the brace; the pieces are JSON already
    return text + ",\"pieces\":[" + pieces_ + "]}\n";
}

std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted) {
    if (there == wanted) return std::nullopt;
    const std::optional<Json> a = parse_json(there);
    const std::optional<Json> b = parse_json(wanted);
    if (!a || a->find("cleave") == nullptr) return "it is no manifest";
    for (const auto& [key, value] : *b->object()) {
        const Json* other = a->find(key);
        if (other == nullptr) return formatted("it has no '{}'", key);
        if (*other == value) continue;
        if (value.object() != nullptr && other->object() != nullptr)
            return formatted("its {} differs", differing_member(key, *other, value));
        const Json::Array* pieces = value.array();
        const Json::Array* others = other->array();
        if (pieces == nullptr || others == nullptr) return formatted("its '{}' differs", key);
        if (pieces->size() != others->size())
            return formatted("it has {} pieces, not {}", others->size(), pieces->size());
        const auto [piece, in_pieces] = std::ranges::mismatch(*others, *pieces, is_same_plan);
        if (piece == others->end()) continue;
        return formatted("its piece {} is another one", piece - others->begin() + 1);
    }
    return std::nullopt;
}

Json input_json(const InputFacts& facts) {
    Json json;
    json["path"] = facts.path;
    json["size"] = facts.size;
    json["mtime_ns"] = facts.mtime_ns;
    if (facts.compression != Compression::kNone) json["compression"] = compression_name(facts.compression);
    return json;
}

Json compression_json(Compression compression, std::uint64_t file_size) {
    if (compression == Compression::kNone) return nullptr;
    Json json;
    json["format"] = compression_name(compression);
    json["size"] = nullptr;
    if (file_size > 0) json["size"] = file_size;
    return json;
}

Json header_json(const InputFacts& facts) {
    Json json;
    json["start"] = 0;
    json["length"] = facts.header_size;
    json["mode"] = name_of(facts.header);
    return json;
}

Json piece_json(const Piece& piece, const std::optional<PieceFile>& file) {
    Json json;
    add_piece(json, piece, file);
    return json;
}

void add_piece(Json& json, const Piece& piece, const std::optional<PieceFile>& file) {
    json["piece"] = piece.number;
    json["start"] = piece.start;
    json["length"] = piece.length;
    json["first_record"] = piece.first_record;
    json["records"] = piece.records;
    if (!file) return;
    json["name"] = file->name;
    json["size"] = file->size;
    add_result(json, file->result);
}

Json dialect_json(const Dialect& dialect) {
    Json json;
    json["delimiter"] = byte_json(dialect.delimiter);
    json["quote"] = byte_json(dialect.quote);
    json["escape"] = byte_json(dialect.escape);
    if (dialect.escape) json["escape_scope"] = name_of(dialect.escape_scope);
    json["quoting"] = name_of(dialect.quoting);
    json["terminator"] = name_of(dialect.terminator);
    if (dialect.header == HeaderRecord::kFirst) json["header_record"] = "first";
    return json;
}

const char* name_of(Quoting quoting) { return quoting == Quoting::kFieldStart ? "field-start" : "anywhere"; }

const char* name_of(Terminator terminator) {
    switch (terminator) {
        case Terminator::kLf: return "lf";
        case Terminator::kCr: return "cr";
        case Terminator::kAny: break;
    }
    return "any";
}

const char* name_of(EscapeScope scope) { return scope == EscapeScope::kEverywhere ? "everywhere" : "quoted"; }

const char* name_of(HeaderMode mode) {
    switch (mode) {
        case HeaderMode::kRepeat: return "repeat";
        case HeaderMode::kFirst: return "first";
        case HeaderMode::kDrop: return "drop";
        case HeaderMode::kNone: break;
    }
    return "none";
}

}  // namespace cleave::cli
