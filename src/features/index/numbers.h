// Little-endian numbers in the bytes of an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bits.h"

namespace cleave {

template <class Number>
Number load(std::span<const std::uint8_t> bytes, std::size_t at) {
    return static_cast<Number>(number_in(bytes.subspan(at, sizeof(Number))));
}

inline std::uint64_t load_64(std::span<const std::uint8_t> bytes, std::size_t at) {
    return load<std::uint64_t>(bytes, at);
}

template <class Number>
void store(std::span<std::uint8_t> bytes, std::size_t at, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) bytes[at + i] = static_cast<std::uint8_t>(number >> (8 * i));
}

}  // namespace cleave
