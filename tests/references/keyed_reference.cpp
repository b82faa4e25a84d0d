#include "keyed_reference.h"

#include <array>

#include "field_reference.h"

namespace cleave::test {

Keyed read_keys(const std::string& text, const Dialect& dialect, std::size_t column, HeaderMode header) {
    const std::size_t bom = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    const std::string_view rest = std::string_view(text).substr(bom);
    Keyed keyed;
    for (const ReferenceRecord& record : read_fields(rest, dialect).records) {
        keyed.begins.push_back(record.begin == 0 ? 0 : record.begin + bom);
        const bool has_field = column < record.ends.size();
        std::string_view field;
        if (has_field) field = field_of(rest, record, column);
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
            value.insert(1, 1, static_cast<char>(*dialect.quote));  // plain data, so a different value
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
