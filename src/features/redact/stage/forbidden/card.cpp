#include <array>
#include <cstddef>

#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

// Whether a card number begins at `at`, at a digit with no digit before it. Luhn's check: counting from the last digit,
// every second one is doubled, and the digits of all results are added up. Which digits are doubled depends on where
// the number ends, so both sums are kept.
bool has_card_at(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t kFewest = 13;
    constexpr std::size_t kMost = 19;
    constexpr std::array<unsigned, 10> kDoubled{0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
    if (*at == '0') return false;
    std::array<unsigned, 2> sums{};  // sums[p]: digits i with i % 2 == p are doubled
    for (std::size_t count = 0; count < kMost;) {
        const unsigned digit = *at++ - unsigned{'0'};
        sums[count & 1] += kDoubled[digit];
        sums[(count & 1) ^ 1] += digit;
        ++count;
        if (at != end && is_digit(*at)) continue;
        if (count >= kFewest && sums[count & 1] % 10 == 0) return true;
        const std::size_t separator = separator_size(at, end);
        if (separator == 0 || at + separator == end || !is_digit(at[separator])) return false;
        at += separator;
    }
    return false;
}

}  // namespace

bool has_card_number(Value value) noexcept {
    constexpr std::uint64_t kFewest = 13;
    if (value.size < kFewest) return false;
    // Most values have too few digits, and counting them needs no branches.
    std::uint64_t digits = 0;
    for (std::uint64_t i = 0; i < value.size; ++i) digits += is_digit(value.data[i]) ? 1U : 0U;
    if (digits < kFewest) return false;

    const std::uint8_t* const end = value.data + value.size;
    bool is_behind_digit = false;
    for (const std::uint8_t* at = value.data; at != end; ++at) {
        if (is_digit(*at) && !is_behind_digit && has_card_at(at, end)) return true;
        is_behind_digit = is_digit(*at);
    }
    return false;
}

}  // namespace cleave
