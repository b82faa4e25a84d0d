// Formatting by fmt, compiled once. fmt is used without its shared library, so each file that calls fmt::format() would
// compile all of fmt. These functions pass the arguments to formatted.cpp without their types.
#pragma once

#include <fmt/format.h>

#include <string>

namespace cleave::cli {

std::string format_all(fmt::string_view format, fmt::format_args arguments);
void append_all(fmt::memory_buffer& buffer, fmt::string_view format, fmt::format_args arguments);

// fmt::format().
template <class... Args>
std::string formatted(fmt::format_string<Args...> format, const Args&... arguments) {
    return format_all(format, fmt::make_format_args(arguments...));
}

// The formatted text goes to the end of the buffer.
template <class... Args>
void append_formatted(fmt::memory_buffer& buffer, fmt::format_string<Args...> format, const Args&... arguments) {
    append_all(buffer, format, fmt::make_format_args(arguments...));
}

}  // namespace cleave::cli
