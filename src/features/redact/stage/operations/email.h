// email(local=mask|hmac(KEY)): the part before the last `@` is masked or becomes a token; the domain stays. The whole
// value is masked if it has no local part or no domain. A domain consists of letters, digits, dots and hyphens, and its
// last label begins with a letter: what follows the `@` in "room 12@4711" is not a domain.
//
// The domain is read backwards from the end of the value: the first byte that cannot be in a domain must be an `@`. It
// is the value's last `@`, because a domain contains none.
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/characters.h"
#include "features/redact/stage/operations/hmac.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Email {
    static constexpr const char* kName = "email";

    static Email parse(const OperationSyntax& syntax, RuleScope& scope);

    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t size) const { return is_hashed ? size + hmac.bound(size) : size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H& hasher) const {
        const std::uint64_t local = local_size(value);
        if (local == 0) return count_characters(value);
        const Value before{value.data, local};
        return (is_hashed ? hmac.measure(before, hasher) : count_characters(before)) + value.size - local;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H& hasher) const {
        const std::uint64_t local = local_size(value);
        if (local == 0) return mask_characters(value, '*', out);
        const Value before{value.data, local};
        const std::uint64_t size = is_hashed ? hmac.write(before, out, hasher) : mask_characters(before, '*', out);
        return size + copy_bytes(out + size, value.data + local, value.size - local);
    }

    bool is_hashed = false;
    Hmac hmac;  // for the local part, if is_hashed

private:
    CLEAVE_DEVICE static bool is_in_domain(std::uint8_t byte) {
        // One bit for each of the bytes 0x00..0x3F (`-`, `.` and digits) and 0x40..0x7F (letters).
        constexpr std::uint64_t kLow = 0x03FF'6000'0000'0000;
        constexpr std::uint64_t kHigh = 0x07FF'FFFE'07FF'FFFE;
        const std::uint64_t set = byte < 0x40 ? kLow : kHigh;
        return byte < 0x80 && (set >> (byte & 63) & 1) != 0;
    }

    // The number of bytes before the `@`; 0 if the whole value is masked.
    CLEAVE_DEVICE static std::uint64_t local_size(Value value) {
        std::uint64_t domain = value.size;
        std::uint64_t label = value.size;  // where the last label begins
        while (domain > 0 && is_in_domain(value.data[domain - 1])) {
            --domain;
            if (label == domain + 1 && value.data[domain] != '.') label = domain;
        }
        const bool has_both = domain > 1 && domain < value.size && value.data[domain - 1] == '@';
        return has_both && label < value.size && value.data[label] >= 'A' ? domain - 1 : 0;
    }
};

}  // namespace cleave
