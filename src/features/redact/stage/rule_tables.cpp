#include "features/redact/stage/rule_tables.h"

#include <algorithm>
#include <utility>

#include "cleave/error.h"
#include "cleave/fields.h"
#include "cleave/kernel.h"
#include "features/redact/stage/dialect_codec.h"

namespace cleave {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

std::string_view without_mark(std::string_view text) {
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    return text;
}

Value value_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// The decimals of a range's bounds, and so the unit in which bounds and values are compared: 10^-kDecimals.
constexpr std::uint64_t kDecimals = 6;

// The largest whole number of units that is at most the number, or nothing if it is not a number of up to 18 digits.
struct Floor {
    std::int64_t units;
    bool is_exact;
};
std::optional<Floor> floor_of(Value value) {
    const ScaledNumber number = scaled_number(value, kDecimals);
    if (!number.is_number || number.units == ScaledNumber::kTooLarge) return std::nullopt;
    const auto units = static_cast<std::int64_t>(number.units);
    if (!number.is_negative) return Floor{units, !number.has_rest};
    return Floor{-units - (number.has_rest ? 1 : 0), !number.has_rest};
}

[[noreturn]] void refuse(std::size_t record, const std::string& reason) {
    throw ArgumentError("record " + std::to_string(record + 1) + " of the file: " + reason);
}

}  // namespace

ValueList::ValueList(std::string_view text) {
    text = without_mark(text);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (!line.empty()) values_.emplace_back(line);
        longest_ = std::max<std::uint64_t>(longest_, line.size());
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (values_.empty()) throw ArgumentError("the file has no values");
}

Hierarchy::Hierarchy(std::string_view text, std::uint64_t level) {
    text = without_mark(text);
    const Dialect dialect;
    const DialectCodec codec(dialect);
    FieldReader reader(dialect, kernel_by_name("scalar"), Reading::kUnambiguous, 0);
    const Value bytes = value_of(text);
    try {
        const RecordBlock block = reader.read(std::span(bytes.data, bytes.size), {}, true);
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            std::vector<std::string> values = values_of(block, r, dialect, codec);
            if (values.size() == 1 && values[0].empty()) continue;
            if (values.size() <= level) refuse(r, "it has no level " + std::to_string(level));
            add(r, values[0], std::move(values[static_cast<std::size_t>(level)]));
        }
    } catch (const InputError& error) {
        refuse(error.place() ? static_cast<std::size_t>(error.place()->record) : 0, error.what());
    }
    if (values_.empty() && ranges_.empty() && !rest_) throw ArgumentError("the file has no records");
    check_ranges();
}

void Hierarchy::add(std::size_t record, const std::string& key, std::string label) {
    longest_ = std::max<std::uint64_t>(longest_, label.size());
    if (key == "*") {
        if (rest_) refuse(record, "`*` appears twice");
        rest_ = std::move(label);
        return;
    }
    const std::size_t dots = key.find("..");
    if (dots != std::string::npos) {
        const auto first = floor_of(value_of(std::string_view(key).substr(0, dots)));
        const auto last = floor_of(value_of(std::string_view(key).substr(dots + 2)));
        if (first.has_value() != last.has_value()) {
            refuse(record, "a range needs a number of up to 18 digits on both sides; `*` covers what is left");
        }
        if (first && last) {
            if (!first->is_exact || !last->is_exact) refuse(record, "a bound has more than six decimals");
            if (first->units > last->units) refuse(record, "the range ends before it begins");
            ranges_.push_back({first->units, last->units, std::move(label)});
            return;
        }
    }
    if (!values_.emplace(key, std::move(label)).second) refuse(record, "its value appears twice");
}

void Hierarchy::check_ranges() {
    std::ranges::sort(ranges_, {}, &Range::first);
    const auto overlap = std::ranges::adjacent_find(
        ranges_, [](const Range& before, const Range& after) { return after.first <= before.last; });
    if (overlap != ranges_.end()) throw ArgumentError("two ranges of the file overlap");
}

const std::string* Hierarchy::find(Value value) const {
    const std::string_view text(reinterpret_cast<const char*>(value.data), value.size);
    const auto found = values_.find(text);
    if (found != values_.end()) return &found->second;
    const std::optional<Floor> number = ranges_.empty() ? std::nullopt : floor_of(value);
    if (number) {
        const auto after = std::ranges::upper_bound(ranges_, number->units, {}, &Range::first);
        if (after != ranges_.begin()) {
            const Range& range = *(after - 1);
            if (number->units < range.last || (number->units == range.last && number->is_exact)) return &range.label;
        }
    }
    return rest_ ? &*rest_ : nullptr;
}

}  // namespace cleave
