// Messages on standard error, and how they show data and places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "cleave/error.h"

namespace cleave::cli {

// Whether the descriptor is a terminal that understands the usual escape sequences.
bool is_terminal(int descriptor);

// Like printable(), but bytes that are not UTF-8 become \xHH, too. Also returns the column, from 0, of text[caret] or
// of the end of the text. East Asian wide characters and emoji take two columns.
struct PrintableData {
    std::string text;
    std::size_t caret = 0;
};
PrintableData printable_data(std::string_view text, std::size_t caret);

// Whether text for the descriptor may be coloured: it is a terminal with colours, and NO_COLOR is not set
// (https://no-color.org).
bool wants_colour(int descriptor);

// The number, from 1, of the record that contains the place; 0 in the header.
std::uint64_t record_number(const Place& place, std::uint64_t header_records);

// "(byte N, line L, record K)" or "(byte N, line L, in the header)". Lines count from 1. The line is left out if not
// known.
std::string describe_place(const Place& place, std::uint64_t header_records,
                           std::optional<std::uint64_t> line = std::nullopt);

// Prints "cleave: TEXT" on standard error, overwriting the bar if there is one. Allocates no memory. Ignores write
// errors.
void print_message(std::string_view text) noexcept;

// The same, but prints TEXT alone.
void print_line(std::string_view text) noexcept;

// The same, but prints " TEXT", a continuation line of a message.
void print_detail(std::string_view text) noexcept;

// The same, but prints "cleave: warning: TEXT".
void print_warning(std::string_view text) noexcept;

}  // namespace cleave::cli
