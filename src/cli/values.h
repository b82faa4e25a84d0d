// Option values as people write them.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>

#include "cli/options.h"

namespace cleave::cli {

// Everything here throws UsageError naming the option.

// Decimal digits only, at least `least`.
std::uint64_t parse_count(const char* option, const std::string& text, std::uint64_t least);

// Bytes, at least 1: digits and a suffix as GNU split's; K M G T P E are powers of 1024, KB MB... of 1000, KiB... of
// 1024.
std::uint64_t parse_size(const char* option, const std::string& text);

// "3/8": piece 3 of 8.
struct Share {
    std::uint64_t number, count;
};
Share parse_share(const char* option, const std::string& text);

// One byte: itself, \t, \0, \\, \xHH, or "tab".
std::uint8_t parse_byte(const char* option, const std::string& text);

template <class T>
struct Choice {
    const char* name;
    T value;
};

template <class T>
T parse_choice(const char* option, const std::string& text, std::span<const Choice<T>> choices) {
    std::string names;
    for (const Choice<T>& choice : choices) {
        if (text == choice.name) return choice.value;
        names += names.empty() ? choice.name : std::string(", ") + choice.name;
    }
    throw UsageError(fmt::format("--{}: '{}' is not one of: {}", option, text, names));
}

}  // namespace cleave::cli
