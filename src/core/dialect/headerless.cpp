#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/dialect/fit.h"
#include "core/dialect/state_machine.h"

namespace cleave {
namespace {

constexpr std::size_t kLook = 4096;       // bytes that are looked at
constexpr std::size_t kMostRecords = 12;  // records that are compared
constexpr std::size_t kLeastRecords = 3;  // fewer prove nothing
constexpr std::size_t kLeastColumns = 2;  // a single one proves nothing

enum class Kind : std::uint8_t { kOther, kNumber, kDate, kAddress };

bool is_figure(char c) { return c >= '0' && c <= '9'; }

Kind kind_of(std::string_view value) {
    const std::size_t at = value.find('@');
    if (at != std::string_view::npos)
        return value.find('.', at) != std::string_view::npos ? Kind::kAddress : Kind::kOther;
    if (std::ranges::none_of(value, is_figure)) return Kind::kOther;
    const std::string_view sign = "+-";
    const std::string_view digits = sign.find(value.front()) == std::string_view::npos ? value : value.substr(1);
    if (digits.find_first_not_of("0123456789.") == std::string_view::npos) return Kind::kNumber;
    return value.find_first_not_of("0123456789-/:.T Z+") == std::string_view::npos ? Kind::kDate : Kind::kOther;
}

bool is_line_end(std::uint8_t byte) { return byte == '\n' || byte == '\r'; }

// Most headers end here: no two fields of the first line that is not empty begin with a digit or have an @.
bool may_be_data(std::span<const std::uint8_t> bytes, const Dialect& dialect) {
    std::size_t fields = 0;
    bool is_start = true;
    const auto line = std::ranges::find_if_not(bytes, is_line_end) - bytes.begin();
    for (const std::uint8_t byte : bytes.subspan(static_cast<std::size_t>(line))) {
        if (is_line_end(byte)) break;
        if (byte == '@' || (is_start && (is_figure(static_cast<char>(byte)) || byte == '-' || byte == '+'))) ++fields;
        is_start = byte == dialect.delimiter || (is_start && byte == dialect.quote);
    }
    return fields >= kLeastColumns;
}

// The values of the first records that are not empty.
std::vector<std::vector<std::string>> first_records(std::span<const std::uint8_t> bytes, const Dialect& dialect,
                                                    const Lead& lead) {
    std::vector<std::vector<std::string>> records;
    const StateMachine machine(dialect);
    State state = State::kFieldStart;
    std::size_t begin = lead.size;
    const auto end_at = [&](std::size_t end) {
        if (end <= begin || records.size() == kMostRecords) return;
        const auto record = bytes.subspan(begin, end - begin);
        if (!is_line_end(record.front())) records.push_back(field_values(record, dialect));
        begin = end;
    };
    for (std::size_t i = lead.size; i < bytes.size() && records.size() < kMostRecords; ++i) {
        const Transition& transition = machine.step(state, bytes[i]);
        if (transition.starts_record) end_at(i);
        state = transition.next;
    }
    if (bytes.size() < kLook) end_at(bytes.size());
    return records;
}

// Whether a number may name the column at this place, from 0.
bool is_likely_name(const std::string& number, std::size_t column) {
    const bool is_year = number.size() == 4 && (number.starts_with("19") || number.starts_with("20"));
    return is_year || number == std::to_string(column) || number == std::to_string(column + 1);
}

}  // namespace

bool seems_headerless(std::span<const std::uint8_t> head, const Dialect& dialect) {
    const auto bytes = head.first(std::min(head.size(), kLook));
    const Lead lead = lead_of(bytes, dialect);
    if (lead.size > bytes.size() || !may_be_data(bytes.subspan(lead.size), dialect)) return false;
    const auto records = first_records(bytes, dialect, lead);
    if (records.size() < kLeastRecords) return false;
    std::size_t alike = 0;
    for (std::size_t column = 0; column < records[0].size(); ++column) {
        const std::string& first = records[0][column];
        const Kind kind = kind_of(first);
        if (kind == Kind::kOther || (kind == Kind::kNumber && is_likely_name(first, column))) continue;
        const bool is_alike = std::ranges::all_of(records, [&](const std::vector<std::string>& record) {
            return column < record.size() && (record[column].empty() || kind_of(record[column]) == kind);
        });
        if (is_alike) ++alike;
    }
    return alike >= kLeastColumns;
}

}  // namespace cleave
