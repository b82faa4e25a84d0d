#include "cli/plan_json.h"

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

// A byte as a character: those above ASCII as Latin-1 has them.
ordered_json byte_json(std::optional<std::uint8_t> byte) {
    if (!byte) return nullptr;
    if (*byte < 0x80) return std::string(1, static_cast<char>(*byte));
    return std::string{static_cast<char>(0xC0 | *byte >> 6), static_cast<char>(0x80 | (*byte & 0x3F))};
}

}  // namespace

void PlanJson::add(const Piece& piece, const std::optional<std::string>& name) {
    ordered_json json = piece_json(piece);
    if (name) json["name"] = *name;
    if (!pieces_.empty()) pieces_ += ',';
    pieces_ += dump_json(json);
}

std::string PlanJson::text(const InputFacts& facts) const {
    constexpr int kVersion = 1;
    const ordered_json json = {
        {"cleave", kVersion},
        {"input", {{"path", facts.path}, {"size", facts.size}, {"mtime_ns", facts.mtime_ns}}},
        {"dialect", dialect_json(facts.dialect)},
        {"header", {{"start", 0}, {"length", facts.header_size}, {"mode", name_of(facts.header)}}}};
    std::string text = dump_json(json);
    text.pop_back();  // the brace; the pieces are JSON already
    return text + ",\"pieces\":[" + pieces_ + "]}\n";
}

ordered_json piece_json(const Piece& piece) {
    return {{"piece", piece.number},
            {"start", piece.start},
            {"length", piece.length},
            {"first_record", piece.first_record},
            {"records", piece.records}};
}

ordered_json dialect_json(const Dialect& dialect) {
    ordered_json json = {{"delimiter", byte_json(dialect.delimiter)},
                         {"quote", byte_json(dialect.quote)},
                         {"escape", byte_json(dialect.escape)}};
    if (dialect.escape) json["escape_scope"] = name_of(dialect.escape_scope);
    json["quoting"] = name_of(dialect.quoting);
    json["terminator"] = name_of(dialect.terminator);
    return json;
}

std::string dump_json(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
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
