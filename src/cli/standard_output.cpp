#include "cli/standard_output.h"

#include <unistd.h>

#include <utility>

#include "io/fd.h"

namespace cleave::cli {

void StandardOutput::print_row(std::span<const std::uint64_t> numbers, char separator) {
    for (const std::uint64_t& number : numbers) {
        const fmt::format_int digits(number);
        buffer_.append(digits.data(), digits.data() + digits.size());
        buffer_.push_back(&number == &numbers.back() ? '\n' : separator);
    }
    if (buffer_.size() >= kBufferSize) flush();
}

void StandardOutput::write(std::span<const std::uint8_t> bytes) {
    flush();
    write_all(STDOUT_FILENO, bytes, "write error", cancellation_);
}

void StandardOutput::flush() {
    const fmt::memory_buffer pending =
        std::exchange(buffer_, fmt::memory_buffer());  // discarded even if the write fails
    write_all(STDOUT_FILENO, {reinterpret_cast<const std::uint8_t*>(pending.data()), pending.size()}, "write error",
              cancellation_);
}

}  // namespace cleave::cli
