#include <cstddef>
#include <cstring>

#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

// The size in bytes of one character between digits, or 0.
std::size_t between_size(const std::uint8_t* at, const std::uint8_t* end) {
    return at != end && (*at == '(' || *at == ')') ? 1 : separator_size(at, end);
}

// Moves `at` behind up to three such characters.
void skip_between(const std::uint8_t*& at, const std::uint8_t* end) {
    for (unsigned i = 0; i < 3; ++i) at += between_size(at, end);
}

// Whether a phone number continues at `at`, behind its plus sign.
bool has_phone_number_at(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t kFewest = 7;
    constexpr std::size_t kMost = 15;
    skip_between(at, end);
    if (at == end || !is_digit(*at) || *at == '0') return false;
    for (std::size_t count = 0; count < kMost;) {
        ++at;
        ++count;
        if (at != end && is_digit(*at)) continue;
        if (count >= kFewest) return true;
        skip_between(at, end);
        if (at == end || !is_digit(*at)) return false;
    }
    return false;
}

}  // namespace

bool has_phone_number(Value value) noexcept {
    const std::uint8_t* at = value.data;
    const std::uint8_t* const end = at + value.size;
    while (at != end) {
        const auto* const sign =
            static_cast<const std::uint8_t*>(std::memchr(at, '+', static_cast<std::size_t>(end - at)));
        if (sign == nullptr) return false;
        at = sign + 1;
        const bool is_behind_word = sign != value.data && is_letter_or_digit(sign[-1]);
        if (!is_behind_word && has_phone_number_at(at, end)) return true;
    }
    return false;
}

}  // namespace cleave
