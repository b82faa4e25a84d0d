// hmac(KEY[, bytes=N][, form=FORM][, context=TEXT][, trim][, lower][, version=2[, prefix]]): every value becomes a
// token, its HMAC-SHA-256 (RFC 2104, FIPS 180-4). The token is the first N bytes in base64url or hex, or 63 bits as a
// decimal number. Version 2 uses a key of its own, derived for this operation; see stage/hasher.h. `prefix` puts "v2."
// before the token; see stage/token_prefix.h.
//
// H is the thread's hasher; see stage/hasher.h. It computes all 32 bytes, which this operation truncates and encodes.
// Only the width of a decimal token depends on the value, so measuring needs the hash only for that form.
#pragma once

#include <cstdint>

#include "features/redact/stage/decimal.h"
#include "features/redact/stage/encodings.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/token_prefix.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Hmac {
    static constexpr const char* kName = "hmac";
    static constexpr std::uint64_t kMaxDecimalDigits = 19;  // enough for 63 bits

    enum class Form : std::uint8_t { kBase64url, kHex, kDecimal };

    static Hmac parse(const OperationSyntax& syntax, RuleScope& scope);

    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t) const { return longest; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H& hasher) const {
        if (form != Form::kDecimal) return longest;
        std::uint8_t digest[32];
        compute(value, digest, hasher);
        return prefix.size() + digit_count(number_of(digest));
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H& hasher) const {
        std::uint8_t digest[32];
        compute(value, digest, hasher);
        if (prefix.size() == 0) return write_digest(digest, out);
        const std::uint64_t size = prefix.write(out);
        return size + write_digest(digest, out + size);
    }

    std::uint32_t use = 0;  // an index into KeyUses::uses()
    Form form = Form::kBase64url;
    std::uint8_t bytes = 16;
    bool is_trimmed = false;
    bool is_lowered = false;
    std::uint8_t version = 1;
    std::uint8_t longest = 0;  // the size of the longest token
    TokenPrefix prefix;

private:
    CLEAVE_DEVICE std::uint64_t write_digest(const std::uint8_t* digest, std::uint8_t* out) const {
        if (form == Form::kBase64url) return write_base64url(digest, bytes, out);
        if (form == Form::kHex) return write_hex(digest, bytes, out);
        const std::uint64_t number = number_of(digest);
        return write_digits(number, digit_count(number), out);
    }

    CLEAVE_DEVICE static bool is_blank(std::uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

    CLEAVE_DEVICE static Value trimmed(Value value) {
        while (value.size > 0 && is_blank(value.data[value.size - 1])) --value.size;
        while (value.size > 0 && is_blank(value.data[0])) {
            ++value.data;
            --value.size;
        }
        return value;
    }

    template <class H>
    CLEAVE_DEVICE void compute(Value value, std::uint8_t* digest, H& hasher) const {
        const Value input = is_trimmed ? trimmed(value) : value;
        if (is_lowered) {
            hasher.lower_token(use, input, digest);
        } else {
            hasher.token(use, input, digest);
        }
    }

    // The first 8 bytes, big-endian, without the top bit.
    CLEAVE_DEVICE static std::uint64_t number_of(const std::uint8_t* digest) {
        std::uint64_t number = 0;
        for (unsigned i = 0; i < 8; ++i) number = number << 8 | digest[i];
        return number & INT64_MAX;
    }
};

}  // namespace cleave
