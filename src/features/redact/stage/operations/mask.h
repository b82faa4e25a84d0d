// mask([first=N][, last=N][, char=C]): each character except the first and last ones becomes C. A value of at most
// first + last characters is masked completely.
//
// In values that are pure ASCII, the usual case, characters are bytes. In any other value the characters are counted
// first, to find the last ones.
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/characters.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Mask {
    static constexpr const char* kName = "mask";

    static Mask parse(const OperationSyntax& syntax, RuleScope& scope);

    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t size) { return size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        if (is_ascii(value)) return value.size;
        const Ends ends = ends_of(value);
        return ends.first + ends.masked + ends.last;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        Ends ends{first, value.size - first - last, last};
        if (!is_ascii(value)) {
            ends = ends_of(value);
        } else if (value.size <= first + last) {
            ends = {0, value.size, 0};
        }
        std::uint64_t size = copy_bytes(out, value.data, ends.first);
        size += fill_bytes(out + size, sign, ends.masked);
        return size + copy_bytes(out + size, value.data + value.size - ends.last, ends.last);
    }

    std::uint64_t first = 0;  // characters that stay
    std::uint64_t last = 0;
    std::uint8_t sign = '*';

private:
    struct Ends {
        std::uint64_t first;   // bytes that stay at the front
        std::uint64_t masked;  // characters between them
        std::uint64_t last;    // bytes that stay at the end
    };

    CLEAVE_DEVICE Ends ends_of(Value value) const {
        const std::uint64_t count = count_characters(value);
        if (count <= first + last) return {0, count, 0};
        const std::uint8_t* const end = value.data + value.size;
        const std::uint8_t* at = value.data;
        for (std::uint64_t i = 0; i < first; ++i) at += character_size(at, end);
        const auto front = static_cast<std::uint64_t>(at - value.data);
        if (last == 0) return {front, count - first, 0};
        for (std::uint64_t i = first; i < count - last; ++i) at += character_size(at, end);
        return {front, count - first - last, static_cast<std::uint64_t>(end - at)};
    }
};

}  // namespace cleave
