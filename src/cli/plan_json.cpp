#include "cli/plan_json.h"

#include <fmt/format.h>

#include <algorithm>

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

// A byte as a character: those above ASCII as Latin-1 has them.
ordered_json byte_json(std::optional<std::uint8_t> byte) {
    if (!byte) return nullptr;
    if (*byte < 0x80) return std::string(1, static_cast<char>(*byte));
    return std::string{static_cast<char>(0xC0 | *byte >> 6), static_cast<char>(0x80 | (*byte & 0x3F))};
}

// "'input.size'", of two objects that are not the same; the first one may be anybody's.
std::string differing_member(const std::string& key, const ordered_json& there, const ordered_json& wanted) {
    for (const auto& [member, value] : wanted.items()) {
        if (!there.contains(member) || there[member] != value) return fmt::format("'{}.{}'", key, member);
    }
    return fmt::format("'{}'", key);
}

}  // namespace

void PlanJson::add(const Piece& piece, const std::optional<std::string>& name) {
    if (!pieces_.empty()) pieces_ += ',';
    pieces_ += dump_json(piece_json(piece, name));
}

std::string PlanJson::text(const InputFacts& facts) const {
    constexpr int kVersion = 1;
    ordered_json json = {{"cleave", kVersion},
                         {"input", input_json(facts)},
                         {"dialect", dialect_json(facts.dialect)},
                         {"header", header_json(facts)}};
    if (facts.piece_compression.format != Compression::kNone) {
        json["compression"] = {{"format", compression_name(facts.piece_compression.format)},
                               {"level", facts.piece_compression.level}};
    }
    std::string text = dump_json(json);
    text.pop_back();  // the brace; the pieces are JSON already
    return text + ",\"pieces\":[" + pieces_ + "]}\n";
}

std::optional<std::string> manifest_difference(std::string_view there, std::string_view wanted) {
    if (there == wanted) return std::nullopt;
    const ordered_json a = ordered_json::parse(there, nullptr, false);
    const ordered_json b = ordered_json::parse(wanted, nullptr, false);
    if (!a.is_object() || !a.contains("cleave")) return "it is no manifest";
    for (const auto& [key, value] : b.items()) {
        if (!a.contains(key)) return fmt::format("it has no '{}'", key);
        const ordered_json& other = a[key];
        if (other == value) continue;
        if (value.is_object() && other.is_object())
            return fmt::format("its {} differs", differing_member(key, other, value));
        if (!value.is_array() || !other.is_array()) return fmt::format("its '{}' differs", key);
        if (value.size() != other.size()) return fmt::format("it has {} pieces, not {}", other.size(), value.size());
        const auto [piece, in_value] = std::ranges::mismatch(other, value);
        return fmt::format("its piece {} is another one", piece - other.begin() + 1);
    }
    return std::nullopt;
}

ordered_json input_json(const InputFacts& facts) {
    ordered_json json = {{"path", facts.path}, {"size", facts.size}, {"mtime_ns", facts.mtime_ns}};
    if (facts.compression != Compression::kNone) json["compression"] = compression_name(facts.compression);
    return json;
}

ordered_json header_json(const InputFacts& facts) {
    return {{"start", 0}, {"length", facts.header_size}, {"mode", name_of(facts.header)}};
}

ordered_json piece_json(const Piece& piece, const std::optional<std::string>& name) {
    ordered_json json = {{"piece", piece.number},
                         {"start", piece.start},
                         {"length", piece.length},
                         {"first_record", piece.first_record},
                         {"records", piece.records}};
    if (name) json["name"] = *name;
    return json;
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
