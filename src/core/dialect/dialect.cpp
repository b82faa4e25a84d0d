#include "cleave/dialect.h"

#include <algorithm>
#include <array>

#include "cleave/error.h"
#include "core/dialect/check_arguments.h"
#include "core/dialect/state_machine.h"

namespace cleave {
namespace {

struct Preset {
    std::string_view name;
    DialectOptions wanted;
};

DialectOptions options_of(std::uint8_t delimiter, std::optional<std::uint8_t> quote, Quoting quoting) {
    DialectOptions wanted;
    wanted.dialect.delimiter = delimiter;
    wanted.dialect.quote = quote;
    wanted.dialect.quoting = quoting;
    wanted.sniff_delimiter = false;
    wanted.preamble.separator_line = SeparatorLine::kData;
    return wanted;
}

// Spreadsheets take the delimiter from a first line such as "sep=;".
DialectOptions heeding_separator_line(DialectOptions wanted) {
    wanted.preamble.separator_line = SeparatorLine::kDelimiter;
    return wanted;
}

DialectOptions ended_by(DialectOptions wanted, Terminator terminator) {
    wanted.dialect.terminator = terminator;
    wanted.sniff_terminator = false;
    return wanted;
}

DialectOptions escaped_by(DialectOptions wanted, std::uint8_t escape) {
    wanted.dialect.escape = escape;
    return wanted;
}

// The reader skips one record as the header, whatever the record contains.
DialectOptions skipping_one_record(DialectOptions wanted) {
    wanted.dialect.header = HeaderRecord::kFirst;
    return wanted;
}

DialectOptions without_header(DialectOptions wanted) {
    wanted.dialect.header = HeaderRecord::kNone;
    return wanted;
}

// No JSON text contains this byte, so a line of JSON is one field.
constexpr std::uint8_t kNotInJson = 0x1F;

// One row per reader: how it reads a file by default. tests/system/interop compares the rows with the readers.
const std::array<Preset, 13>& presets() {
    static const std::array<Preset, 13> kRows = {{
        {"rfc4180", options_of(',', '"', Quoting::kFieldStart)},
        {"excel", heeding_separator_line(options_of(',', '"', Quoting::kFieldStart))},
        {"python", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kAny)},
        {"pandas", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kAny)},
        {"polars", ended_by(options_of(',', '"', Quoting::kAnywhere), Terminator::kLf)},
        {"arrow", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kAny)},
        {"duckdb", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kAny)},
        {"postgres", skipping_one_record(options_of(',', '"', Quoting::kAnywhere))},
        {"mysql", skipping_one_record(escaped_by(
                      ended_by(options_of('\t', std::nullopt, Quoting::kFieldStart), Terminator::kLf), '\\'))},
        {"clickhouse", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kLf)},
        {"miller", ended_by(options_of(',', '"', Quoting::kFieldStart), Terminator::kLf)},
        {"tsv", options_of('\t', std::nullopt, Quoting::kFieldStart)},
        {"jsonl", without_header(options_of(kNotInJson, std::nullopt, Quoting::kFieldStart))},
    }};
    return kRows;
}

}  // namespace

bool is_json_lines(const Dialect& dialect) {
    return dialect.header == HeaderRecord::kNone && dialect.delimiter == kNotInJson && !dialect.quote &&
           !dialect.escape;
}

std::optional<std::string> dialect_fault(const Dialect& dialect) {
    const char* fault = fault_of(dialect);
    return fault != nullptr ? std::optional<std::string>(fault) : std::nullopt;
}

const Dialect& checked(const Dialect& dialect) {
    if (const auto fault = dialect_fault(dialect)) throw ArgumentError("dialect: " + *fault);
    return dialect;
}

DialectOptions settled_options(const Dialect& dialect) {
    DialectOptions options;
    options.dialect = dialect;
    options.sniff_delimiter = options.sniff_terminator = false;
    options.preamble.separator_line = SeparatorLine::kData;
    return options;
}

std::optional<DialectOptions> dialect_preset(std::string_view name) {
    for (const Preset& preset : presets()) {
        if (preset.name == name) return preset.wanted;
    }
    return std::nullopt;
}

std::vector<std::string_view> dialect_presets() {
    std::vector<std::string_view> names;
    for (const Preset& preset : presets()) names.push_back(preset.name);
    return names;
}

std::size_t bom_size(std::span<const std::uint8_t> head) {
    constexpr std::array<std::uint8_t, 3> kBom = {0xEF, 0xBB, 0xBF};
    return head.size() >= kBom.size() && std::equal(kBom.begin(), kBom.end(), head.begin()) ? kBom.size() : 0;
}

Lead lead_of(std::span<const std::uint8_t> head, const Dialect& dialect) {
    return dialect.preamble > 0 ? Lead{dialect.preamble, true} : Lead{bom_size(head), false};
}

}  // namespace cleave
