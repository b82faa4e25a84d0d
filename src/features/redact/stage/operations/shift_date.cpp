#include "features/redact/stage/operations/shift_date.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/big_endian.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/date_text.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

// None of them is read in two ways: a year comes first, or points separate day, month and year.
constexpr std::string_view kUsualFormats = "YYYY-MM-DD|YYYYMMDD|YYYY/MM/DD|DD.MM.YYYY";

struct Day {
    std::int64_t year;
    unsigned month;
    unsigned day;
};

// The number of days since 0000-03-01. Years begin in March, so that a leap day ends its year.
std::int64_t to_days(const Day& date) {
    const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    const std::int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
}

Day to_date(std::int64_t days) {
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const std::int64_t day_of_era = days - era * 146097;
    const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month = (5 * day_of_year + 2) / 153;
    const auto number = static_cast<unsigned>(month < 10 ? month + 3 : month - 9);
    return {year_of_era + era * 400 + (number <= 2 ? 1 : 0), number,
            static_cast<unsigned>(day_of_year - (153 * month + 2) / 5 + 1)};
}

bool fits(const ShiftDate::Format& format, Value value) {
    if (value.size < format.size) return false;
    for (std::size_t i = 0; i < format.size; ++i) {
        const char expected = format.text[i];
        const bool is_digit_here = expected == 'Y' || expected == 'M' || expected == 'D';
        if (is_digit_here ? !is_digit(value.data[i]) : value.data[i] != static_cast<std::uint8_t>(expected)) {
            return false;
        }
    }
    const std::uint8_t* const year = value.data + format.year;
    if (!is_day(two_digits(year), two_digits(year + 2), two_digits(value.data + format.month),
                two_digits(value.data + format.day))) {
        return false;
    }
    if (value.size == format.size) return true;
    const std::uint8_t separator = value.data[format.size];
    return (separator == 'T' || separator == ' ') && is_time(value.data + format.size + 1, value.data + value.size);
}

// The format that fits; nullptr if none does.
const ShiftDate::Format* format_of(const ShiftDate& shift, Value value) {
    const std::span<const ShiftDate::Format> formats(shift.formats, shift.format_count);
    const auto found =
        std::ranges::find_if(formats, [&](const ShiftDate::Format& format) { return fits(format, value); });
    return found == formats.end() ? nullptr : &*found;
}

Day moved(const ShiftDate& shift, const ShiftDate::Format& format, Value value, OperationContext& context) {
    const std::uint8_t* const year = value.data + format.year;
    const Day date{std::int64_t{100} * two_digits(year) + two_digits(year + 2), two_digits(value.data + format.month),
                   two_digits(value.data + format.day)};
    std::uint8_t digest[kMacSize];
    const BigEndian days(shift.days);
    context.hasher.token(shift.use, {days.value(), context.by}, digest);
    const std::uint64_t count = 2 * shift.days + (shift.may_stay ? 1 : 0);
    const auto number = static_cast<std::int64_t>(scaled_down(big_endian_number(digest), count));
    const std::int64_t drawn = number - static_cast<std::int64_t>(shift.days);
    return to_date(to_days(date) + drawn + (drawn >= 0 && !shift.may_stay ? 1 : 0));
}

ShiftDate::Format format_of(std::string_view text, const ArgumentSyntax& argument) {
    ShiftDate::Format format{};
    if (text.size() > ShiftDate::Format::kMaxSize) Arguments::fail("a format has at most 16 characters", argument);
    const auto place_of = [&](std::string_view part) {
        const std::size_t at = text.find(part);
        const char sign = part[0];
        const bool is_once =
            at != std::string_view::npos && static_cast<std::size_t>(std::ranges::count(text, sign)) == part.size();
        if (!is_once) Arguments::fail("a format has YYYY, MM and DD, each once", argument);
        return static_cast<std::uint8_t>(at);
    };
    format.year = place_of("YYYY");
    format.month = place_of("MM");
    format.day = place_of("DD");
    format.size = static_cast<std::uint8_t>(text.size());
    std::ranges::copy(text, format.text);
    return format;
}

// Whether some text fits both formats and means different days.
bool are_confusable(const ShiftDate::Format& a, const ShiftDate::Format& b) {
    const auto shape = [](const ShiftDate::Format& format) {
        std::string text(format.text, format.size);
        std::ranges::replace_if(
            text, [](char sign) { return sign == 'Y' || sign == 'M' || sign == 'D'; }, '9');
        return text;
    };
    return shape(a) == shape(b);
}

}  // namespace

ShiftDate ShiftDate::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "shift-date(KEY, by=COLUMN, days=N, format=FORMAT, context=TEXT, version=1|2)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const by = arguments.take("by");
    const ArgumentSyntax* const given = arguments.take("format");
    const ArgumentSyntax* const context = arguments.take("context");
    ShiftDate shift;
    shift.days = arguments.take_number("days", 1, kMaxDays, 365);
    shift.may_stay = arguments.take_number("version", 1, 2, 2) == 1;
    arguments.finish();
    if (by == nullptr) {
        throw SyntaxError("shift-date needs by=COLUMN, the column that says whose date it is", syntax.place);
    }
    std::string_view left = given != nullptr ? std::string_view(given->value) : kUsualFormats;
    const ArgumentSyntax& place = given != nullptr ? *given : key;
    for (bool is_last = false; !is_last;) {
        const std::size_t end = std::min(left.find('|'), left.size());
        is_last = end == left.size();
        if (shift.format_count == kMaxFormats) Arguments::fail("there are at most 8 formats", place);
        const Format format = format_of(left.substr(0, end), place);
        const std::span<const Format> before(shift.formats, shift.format_count);
        if (std::ranges::any_of(before, [&](const Format& other) { return are_confusable(format, other); })) {
            Arguments::fail("two formats fit the same dates", place);
        }
        shift.formats[shift.format_count++] = format;
        left.remove_prefix(is_last ? end : end + 1);
    }
    shift.by = scope.column(*by);
    shift.use = scope.use_key(key, shift.may_stay ? "cleave 2 shift-date" : "cleave 3 shift-date", context);
    return shift;
}

std::uint64_t ShiftDate::measure(Value value, OperationContext& context) const {
    // A refused value is found by write() in any case, and no other value changes its size.
    return context.by.size > 0 && format_of(*this, value) != nullptr ? value.size : write(value, nullptr, context);
}

std::uint64_t ShiftDate::write(Value value, std::uint8_t* out, OperationContext& context) const {
    if (context.by.size == 0) return context.refuse("the column that shift-date moves dates by is empty");
    const Format* const format = format_of(*this, value);
    if (format == nullptr) return context.refuse("not a date that shift-date can move");
    const Day date = moved(*this, *format, value, context);
    if (date.year < 0 || date.year > 9999) return context.refuse("a date that moves out of the years 0000 to 9999");
    copy_bytes(out, value.data, value.size);
    write_digits(static_cast<std::uint64_t>(date.year), 4, out + format->year);
    write_digits(date.month, 2, out + format->month);
    write_digits(date.day, 2, out + format->day);
    return value.size;
}

}  // namespace cleave
