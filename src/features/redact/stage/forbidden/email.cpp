#include <cstddef>
#include <cstring>

#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

bool is_label(std::uint8_t byte) { return is_letter_or_digit(byte) || byte == '-' || is_beyond_ascii(byte); }
bool is_local(std::uint8_t byte) {
    return is_label(byte) || byte == '.' || byte == '_' || byte == '%' || byte == '+' || byte == '"';
}
bool is_top_level(std::uint8_t byte) { return is_letter(byte) || is_beyond_ascii(byte); }

// Whether an address literal begins at `at`.
bool has_address_literal(const std::uint8_t* at, const std::uint8_t* end) {
    if (at == end || *at != '[') return false;
    bool has_digit = false;
    for (++at; at != end && (is_letter_or_digit(*at) || *at == '.' || *at == ':'); ++at) {
        has_digit = has_digit || is_digit(*at);
    }
    return has_digit && at != end && *at == ']';
}

// Whether a domain with a dot and two letters begins at `at`.
bool has_domain(const std::uint8_t* at, const std::uint8_t* end) {
    for (bool is_behind_dot = false;; is_behind_dot = true) {
        if (is_behind_dot && end - at >= 2 && is_top_level(at[0]) && is_top_level(at[1])) return true;
        const std::uint8_t* const label = at;
        while (at != end && is_label(*at)) ++at;
        if (at == label || at == end || *at != '.') return false;
        ++at;
    }
}

}  // namespace

bool has_mail_address(Value value) noexcept {
    const std::uint8_t* at = value.data;
    const std::uint8_t* const end = at + value.size;
    while (at != end) {
        const auto* const sign =
            static_cast<const std::uint8_t*>(std::memchr(at, '@', static_cast<std::size_t>(end - at)));
        if (sign == nullptr) return false;
        at = sign + 1;
        const bool has_local = sign != value.data && is_local(sign[-1]);
        if (has_local && (has_domain(at, end) || has_address_literal(at, end))) return true;
    }
    return false;
}

}  // namespace cleave
