#include "keyed_reference.h"

#include <array>

#include "field_reference.h"

namespace cleave::test {
namespace {

// What a reader gets of a field: each quote and escape by the letter of doc/design.md, "What a record is".
std::string value_of(std::string_view field, const Dialect& dialect) {
    std::string value;
    bool is_quoted = false;
    bool is_after_quote = false;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(field[i]);
        const bool is_anywhere = dialect.quoting == Quoting::kAnywhere;
        const bool is_outside_escape =
            dialect.escape_scope == EscapeScope::kEverywhere && (!is_after_quote || is_anywhere);
        if (dialect.escape == byte && i + 1 < field.size() && (is_quoted || is_outside_escape)) {
            value += field[++i];
            is_after_quote = false;
        } else if (dialect.quote == byte && is_quoted) {
            is_quoted = false;
            is_after_quote = true;
        } else if (dialect.quote == byte && is_after_quote) {
            value += field[i];
            is_quoted = true;
            is_after_quote = false;
        } else if (dialect.quote == byte && (i == 0 || is_anywhere)) {
            is_quoted = true;
        } else {
            value += field[i];
            is_after_quote = false;
        }
    }
    return value;
}

}  // namespace

Keyed read_keys(const std::string& text, const Dialect& dialect, std::size_t column, HeaderMode header) {
    const std::size_t bom = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    const std::string_view rest = std::string_view(text).substr(bom);
    Keyed keyed;
    for (const ReferenceRecord& record : read_fields(rest, dialect).records) {
        keyed.begins.push_back(record.begin == 0 ? 0 : record.begin + bom);
        const bool has_field = column < record.ends.size();
        std::string_view field;
        if (has_field) {
            const std::uint32_t begin = column == 0 ? record.begin : record.ends[column - 1] + 1;
            const bool is_last = column + 1 == record.ends.size();
            field = rest.substr(begin, (is_last ? record.content_end : record.ends[column]) - begin);
        }
        keyed.values.push_back(value_of(field, dialect));
        keyed.lacks.push_back(!has_field && record.content_end > record.begin);
    }
    keyed.begins.push_back(text.size());
    keyed.body = header == HeaderMode::kNone ? 0 : static_cast<std::size_t>(header_records(text, dialect));
    return keyed;
}

std::string random_runs(Random& random, const Dialect& dialect, std::size_t column, std::size_t size) {
    const char delimiter = static_cast<char>(dialect.delimiter);
    const std::array<std::string, 6> values = {"", "a", "b", "ab", "a b", "aa"};
    std::string text = random.chance(10) ? "\xEF\xBB\xBF" : "";
    const auto end = [&] {
        switch (dialect.terminator) {
            case Terminator::kCr: return std::string("\r");
            case Terminator::kAny: return std::string(random.chance(30) ? "\r" : random.chance(50) ? "\r\n" : "\n");
            case Terminator::kLf: break;
        }
        return std::string(random.chance(30) ? "\r\n" : "\n");
    };
    const auto written = [&](std::string value) {
        if (dialect.quote && random.chance(30)) {
            const char quote = static_cast<char>(*dialect.quote);
            return quote + value + quote;
        }
        if (dialect.escape && dialect.escape_scope == EscapeScope::kEverywhere && !value.empty() && random.chance(20)) {
            value.insert(0, 1, static_cast<char>(*dialect.escape));
        }
        if (dialect.quote && dialect.quoting == Quoting::kFieldStart && value == "ab" && text.size() > 200 &&
            random.chance(10)) {
            value.insert(1, 1, static_cast<char>(*dialect.quote));  // plain data: another value
        }
        return value;
    };
    const std::size_t most = random.chance(50) ? 3 : 30;
    std::string value;
    for (std::size_t left = 0; text.size() < size; --left) {
        if (left == 0) {
            left = 1 + random.below(most);
            value = values[random.below(values.size())];
        }
        if (text.size() > 200 && random.chance(2)) {
            text += random.chance(50) ? "" : "x";
        } else {
            for (std::size_t i = 0; i < column; ++i) {
                text += written(std::string(random.below(random.chance(5) ? 60 : 4), 'x')) + delimiter;
            }
            text += written(value);
            if (random.chance(60)) text += delimiter + written("y");
        }
        text += end();
    }
    if (random.chance(30) && text.ends_with('\n') && !text.ends_with("\r\n")) text.pop_back();
    return text;
}

}  // namespace cleave::test
