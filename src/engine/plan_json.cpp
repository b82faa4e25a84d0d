#include "engine/plan_json.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "engine/joined.h"

namespace cleave {
namespace {

// The byte as a Latin-1 character, in UTF-8.
Json byte_json(std::optional<std::uint8_t> byte) {
    if (!byte) return nullptr;
    if (*byte < 0x80) return std::string(1, static_cast<char>(*byte));
    return std::string{static_cast<char>(0xC0 | *byte >> 6), static_cast<char>(0x80 | (*byte & 0x3F))};
}

// The inverse of byte_json(). For null, leaves `byte` empty. Returns false if the JSON is neither null nor a byte.
bool read_byte(const Json& json, std::optional<std::uint8_t>& byte) {
    byte.reset();
    if (json == Json()) return true;
    for (unsigned value = 0; value < 256 && !byte; ++value) {
        if (json == byte_json(static_cast<std::uint8_t>(value))) byte = static_cast<std::uint8_t>(value);
    }
    return byte.has_value();
}

// Sets `value` to the element of `values` with that name. Returns false if there is none.
template <class Value>
bool read_name(const Json* json, std::initializer_list<Value> values, Value& value) {
    for (const Value each : values) {
        if (json == nullptr || *json != Json(name_of(each))) continue;
        value = each;
        return true;
    }
    return false;
}

// An unknown member may change what the other members mean.
bool has_unknown_member(const Json& dialect) {
    constexpr std::array<std::string_view, 8> kKnown = {"delimiter", "quote",      "escape",        "escape_scope",
                                                        "quoting",   "terminator", "header_record", "preamble"};
    const auto is_known = [&](const auto& member) { return std::ranges::find(kKnown, member.first) != kKnown.end(); };
    return dialect.object() != nullptr && !std::ranges::all_of(*dialect.object(), is_known);
}

// Always eight digits.
std::string hexadecimal(std::uint32_t number) {
    std::string text(8, '0');
    for (std::size_t i = text.size(); i-- > 0; number >>= 4U) text[i] = "0123456789abcdef"[number & 0xFU];
    return text;
}

void add_result(Json& json, const PieceResult& result) {
    if (result.stored) json["stored"] = *result.stored;
    if (result.crc32c) json["crc32c"] = hexadecimal(*result.crc32c);
    if (!result.values.empty()) json["values"] = result.values;
    if (!result.part.empty()) json["part"] = result.part;
}

}  // namespace

InputFacts facts_of(const Input& input, const Dialect& dialect, HeaderMode header) {
    InputFacts facts;
    facts.path = input.path();
    facts.mtime_ns = input.identity().mtime_ns;
    facts.dialect = dialect;
    facts.header = header;
    facts.compression = input.compression();
    facts.encoding = input.encoding();
    return facts;
}

void PlanJson::add(const Piece& piece, const std::optional<PieceFile>& file, const JoinedInputs* joined) {
    if (!pieces_.empty()) pieces_ += ',';
    Json json = piece_json(piece, file);
    if (joined != nullptr) {
        Json::Array ranges;
        joined->for_each_range({piece.start, piece.length}, [&](const InputRange& range) {
            Json& one = ranges.emplace_back();
            one["input"] = range.input;
            one["start"] = range.offset;
            one["length"] = range.size;
        });
        json["ranges"] = std::move(ranges);
    }
    pieces_ += json.text();
}

namespace {

Json rejects_json(const RejectCounts& rejects) {
    Json json;
    json["name"] = rejects.path;
    json["records"] = rejects.rejected;
    json["size"] = rejects.file_size;
    json["crc32c"] = hexadecimal(rejects.crc32c);
    return json;
}

// As text, because there may be many.
std::string inputs_text(const JoinedInputs& joined) {
    std::string text;
    joined.for_each([&](const InputPart& part) {
        Json json;
        json["path"] = joined.location(part.input).bare();
        json["size"] = part.size;
        json["mtime_ns"] = part.mtime_ns;
        json["start"] = part.start;
        json["length"] = part.length;
        json["records"] = part.records;
        text += (text.empty() ? "" : ",") + json.text();
    });
    return text;
}

}  // namespace

std::string PlanJson::start_text(const InputFacts& facts) {
    Json json;
    json["cleave"] = facts.are_names_beneath ? 2 : 1;
    json["input"] = input_json(facts);
    json["dialect"] = dialect_json(facts.dialect);
    json["header"] = header_json(facts);
    if (facts.piece_compression.format != Compression::kNone) {
        Json& compression = json["compression"];
        compression["format"] = compression_name(facts.piece_compression.format);
        compression["level"] = facts.piece_compression.level.value_or(default_level(facts.piece_compression.format));
    }
    if (!facts.dropped_columns.empty()) json["dropped_columns"] = facts.dropped_columns;
    if (facts.parts) json["parts"] = parts_json(*facts.parts);
    if (facts.rejects) json["rejects"] = rejects_json(*facts.rejects);
    std::string text = json.text();
    text.pop_back();  // drops the brace: what follows is already JSON text
    if (facts.joined != nullptr) text += ",\"inputs\":[" + inputs_text(*facts.joined) + "]";
    return text + ",\"pieces\":[";
}

std::string PlanJson::text(const InputFacts& facts) const { return start_text(facts) + pieces_ + kEnd; }

Json input_json(const InputFacts& facts) {
    Json json;
    json["path"] = facts.path;
    json["size"] = facts.size;
    json["mtime_ns"] = facts.mtime_ns;
    if (facts.compression != Compression::kNone) json["compression"] = compression_name(facts.compression);
    if (facts.encoding != Encoding::kBytes) json["encoding"] = encoding_name(facts.encoding);
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

Json parts_json(const ByValue& by) {
    Json json;
    json["by"] = nullptr;
    if (!by.is_draw()) json["by"] = by.columns.text;
    json["seed"] = by.seed;
    Json::Array weights;
    for (const Part& part : by.parts) weights.emplace_back(part.weight);
    json["weights"] = std::move(weights);
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
    json["size"] = file->result.size;
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
    if (dialect.header == HeaderRecord::kNone) json["header_record"] = "none";
    if (dialect.preamble > 0) json["preamble"] = dialect.preamble;
    return json;
}

std::optional<Dialect> dialect_of_json(const Json& json) {
    if (has_unknown_member(json)) return std::nullopt;
    Dialect dialect;
    std::optional<std::uint8_t> delimiter;
    const auto read = [&](const char* name, std::optional<std::uint8_t>& byte) {
        const Json* value = json.find(name);
        return value != nullptr && read_byte(*value, byte);
    };
    if (!read("delimiter", delimiter) || !delimiter) return std::nullopt;
    dialect.delimiter = *delimiter;
    if (!read("quote", dialect.quote) || !read("escape", dialect.escape)) return std::nullopt;
    const bool is_named =
        read_name(json.find("quoting"), {Quoting::kFieldStart, Quoting::kAnywhere}, dialect.quoting) &&
        read_name(json.find("terminator"), {Terminator::kLf, Terminator::kCr, Terminator::kAny}, dialect.terminator);
    if (!is_named) return std::nullopt;
    if (dialect.escape &&
        !read_name(json.find("escape_scope"), {EscapeScope::kEverywhere, EscapeScope::kQuoted}, dialect.escape_scope))
        return std::nullopt;
    if (const Json* header = json.find("header_record")) {
        if (*header != Json("first") && *header != Json("none")) return std::nullopt;
        dialect.header = *header == Json("first") ? HeaderRecord::kFirst : HeaderRecord::kNone;
    }
    if (const Json* preamble = json.find("preamble")) {
        const auto size = preamble->natural();
        if (!size || *size > kMaxPreambleSize) return std::nullopt;
        dialect.preamble = *size;
    }
    return dialect_fault(dialect) ? std::nullopt : std::optional(dialect);
}

std::optional<HeaderMode> header_mode_named(const Json& name) {
    HeaderMode mode{};
    const bool is_known =
        read_name(&name, {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop, HeaderMode::kNone}, mode);
    return is_known ? std::optional(mode) : std::nullopt;
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

}  // namespace cleave
