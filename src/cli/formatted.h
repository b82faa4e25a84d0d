// Formatting with fmt, compiled once. fmt is used header-only, so each file that called fmt::format() would compile all
// of fmt. These functions pass type-erased arguments to messages.cpp instead.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace cleave::cli {

std::string format_all(fmt::string_view format, fmt::format_args arguments);
void append_all(fmt::memory_buffer& buffer, fmt::string_view format, fmt::format_args arguments);

// fmt::format().
template <class... Args>
std::string formatted(fmt::format_string<Args...> format, const Args&... arguments) {
    return format_all(format, fmt::make_format_args(arguments...));
}

// "1 record", "2 records".
inline std::string numbered(std::uint64_t count, const char* thing) {
    return formatted("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// Appends the formatted text to the buffer.
template <class... Args>
void append_formatted(fmt::memory_buffer& buffer, fmt::format_string<Args...> format, const Args&... arguments) {
    append_all(buffer, format, fmt::make_format_args(arguments...));
}

}  // namespace cleave::cli
