#include <cstddef>

#include "features/redact/stage/date_text.h"
#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

// Reads a run of digits at `at`, of which it may have up to `most`, and moves `at` behind them. Returns 0 for none or
// for more.
unsigned take_number(const std::uint8_t*& at, const std::uint8_t* end, std::size_t most, std::size_t& size) {
    unsigned number = 0;
    for (size = 0; at != end && is_digit(*at); ++at, ++size) {
        if (size == most) return 0;
        number = 10 * number + (*at - unsigned{'0'});
    }
    return number;
}

bool is_day_of_life(unsigned year, unsigned month, unsigned day) {
    return year >= 1900 && year <= 2099 && month <= 12 && day <= 31 && is_day(year / 100, year % 100, month, day);
}

// Whether a day begins at `at`, at a digit with no letter or digit before it.
bool has_day_at(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t kYear = 4;
    unsigned numbers[3] = {};
    std::size_t sizes[3] = {};
    std::uint8_t separator = 0;
    for (unsigned i = 0; i < 3; ++i) {
        if (i > 0) {
            const bool is_separator = at != end && (*at == '.' || *at == '-' || *at == '/');
            if (!is_separator || (i == 2 && *at != separator)) return false;
            separator = *at++;
            at += blank_size(at, end);
        }
        numbers[i] = take_number(at, end, kYear, sizes[i]);
        if (numbers[i] == 0 || sizes[i] == 3) return false;
    }
    const bool has_time = at != end && ((*at | 0x20) == 't' || (*at | 0x20) == 'z');
    if (at != end && is_letter_or_digit(*at) && !has_time) return false;
    if (sizes[0] == kYear) return sizes[1] <= 2 && sizes[2] <= 2 && is_day_of_life(numbers[0], numbers[1], numbers[2]);
    if (sizes[2] != kYear || sizes[0] > 2 || sizes[1] > 2) return false;
    return is_day_of_life(numbers[2], numbers[1], numbers[0]) || is_day_of_life(numbers[2], numbers[0], numbers[1]);
}

}  // namespace

bool has_day(Value value) noexcept {
    const std::uint8_t* const end = value.data + value.size;
    bool is_behind_word = false;
    for (const std::uint8_t* at = value.data; at != end; ++at) {
        if (!is_behind_word && is_digit(*at) && has_day_at(at, end)) return true;
        is_behind_word = is_letter_or_digit(*at);
    }
    return false;
}

}  // namespace cleave
