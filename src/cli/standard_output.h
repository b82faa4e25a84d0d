// Standard output.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "cleave/cancel.h"
#include "cli/formatted.h"

namespace cleave::cli {

// Buffered standard output. The destructor discards unflushed output, so that a failed run prints no partial result.
class StandardOutput {
public:
    // `cancellation`, if given, must outlive this; it interrupts waits for the reader by throwing Cancelled.
    explicit StandardOutput(const Cancellation* cancellation = nullptr) : cancellation_(cancellation) {}

    template <class... Args>
    void print(fmt::format_string<Args...> format, const Args&... args) {
        append_formatted(buffer_, format, args...);
        if (buffer_.size() >= kBufferSize) flush();
    }

    // Prints the numbers, at least one, on one line, with the separator between them. Many times faster than print().
    void print_row(std::span<const std::uint64_t> numbers, char separator);

    void write(std::span<const std::uint8_t> bytes);

    // Throws SystemError.
    void flush();

private:
    static constexpr std::size_t kBufferSize = std::size_t{64} << 10;
    const Cancellation* cancellation_;
    fmt::memory_buffer buffer_;
};

}  // namespace cleave::cli
