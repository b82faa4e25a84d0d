// What may precede a token of version 2, so that its readers know how it was made: "v2.", or "v2.N." if the key has
// version N. Compiles for a GPU too.
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/decimal.h"
#include "features/redact/stage/value.h"

namespace cleave {

class TokenPrefix {
public:
    // None.
    TokenPrefix() = default;
    // `key_version` is 0 if the key has none, and at most 10^9.
    explicit TokenPrefix(std::uint64_t key_version) {
        constexpr std::uint8_t kFirst[] = {'v', '2', '.'};
        size_ = static_cast<std::uint8_t>(copy_bytes(text_, kFirst, sizeof kFirst));
        if (key_version == 0) return;
        size_ += static_cast<std::uint8_t>(write_digits(key_version, digit_count(key_version), text_ + size_));
        text_[size_++] = '.';
    }

    CLEAVE_DEVICE std::uint64_t size() const { return size_; }
    // Returns size().
    CLEAVE_DEVICE std::uint64_t write(std::uint8_t* out) const { return copy_bytes(out, text_, size_); }

private:
    std::uint8_t size_ = 0;
    std::uint8_t text_[15] = {};
};

// The token without its prefix, whatever version of a key that names.
inline Value without_prefix(Value token) {
    const std::uint8_t* at = token.data;
    const std::uint8_t* const end = at + token.size;
    if (token.size < 3 || at[0] != 'v' || at[1] != '2' || at[2] != '.') return token;
    at += 3;
    const std::uint8_t* const digits = at;
    while (at != end && is_digit(*at)) ++at;
    if (at == digits || at == end || *at != '.') at = digits - 1;
    ++at;
    return {at, static_cast<std::uint64_t>(end - at)};
}

}  // namespace cleave
