// Standard output and the messages on standard error.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cleave/cancel.h"
#include "cleave/error.h"

namespace cleave::cli {

// Buffered standard output. What was not flushed is lost, so that a failed run prints no half result.
class StandardOutput {
public:
    // `cancellation`, if any, ends waits for the reader by Cancelled, and must outlive this.
    explicit StandardOutput(const Cancellation* cancellation = nullptr) : cancellation_(cancellation) {}

    template <class... Args>
    void print(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(fmt::appender(buffer_), format, std::forward<Args>(args)...);
        if (buffer_.size() >= kBufferSize) flush();
    }

    // The numbers with the separator between them, on a line: many times as fast as print().
    void print_row(std::span<const std::uint64_t> numbers, char separator);

    void write(std::span<const std::uint8_t> bytes);

    // Throws std::system_error.
    void flush();

private:
    static constexpr std::size_t kBufferSize = std::size_t{64} << 10;
    const Cancellation* cancellation_;
    fmt::memory_buffer buffer_;
};

// Whether the descriptor is a terminal that understands the usual escape sequences.
bool is_terminal(int descriptor);

// Control characters as \xHH: names and data of others never reach the terminal raw.
std::string printable(std::string_view text);

// The same for data, with bytes that are no UTF-8 as \xHH too; and the column, from 0, in which text[caret] stands
// then, or the end of it. A terminal has two columns for a wide character of East Asia and for an emoji.
struct PrintableData {
    std::string text;
    std::size_t caret = 0;
};
PrintableData printable_data(std::string_view text, std::size_t caret);

// Whether what is written to the descriptor may be coloured: it is a terminal that can do that, and NO_COLOR is not set
// (https://no-color.org).
bool wants_colour(int descriptor);

// How an input is called in messages.
std::string display_name(const std::string& path);

// The number of the record that holds the place: from 1, or 0 if it is one of the records that the header takes up.
std::uint64_t record_number(const Place& place, std::uint64_t header_records);

// "(byte N, line L, record K)" or "(byte N, line L, in the header)", with lines counted from 1. Without the line if it
// is not known.
std::string describe_place(const Place& place, std::uint64_t header_records,
                           std::optional<std::uint64_t> line = std::nullopt);

// Prints "cleave: TEXT" on standard error, over a bar if one is there. Asks for no memory. What cannot be written is
// lost.
void print_message(std::string_view text) noexcept;

// The same with "cleave: warning: TEXT".
void print_warning(std::string_view text) noexcept;

}  // namespace cleave::cli
