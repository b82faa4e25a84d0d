#include "cli/standard_output.h"

#include <unistd.h>

#include <charconv>
#include <limits>

#include "core/reader/fd.h"

namespace cleave::cli {

void StandardOutput::print_row(std::span<const std::uint64_t> numbers, char separator) {
    constexpr std::size_t kMostDigits = std::numeric_limits<std::uint64_t>::digits10 + 1;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + numbers.size() * (kMostDigits + 1));
    char* end = buffer_.data() + before;
    for (const std::uint64_t number : numbers) {
        end = std::to_chars(end, end + kMostDigits, number).ptr;
        *end++ = separator;
    }
    end[-1] = '\n';
    buffer_.resize(static_cast<std::size_t>(end - buffer_.data()));
    if (buffer_.size() >= kBufferSize) flush();
}

void StandardOutput::write(std::span<const std::uint8_t> bytes) {
    const char* begin = reinterpret_cast<const char*>(bytes.data());
    buffer_.append(begin, begin + bytes.size());
    if (buffer_.size() >= kBufferSize) flush();
}

void StandardOutput::flush() {
    const std::span pending(reinterpret_cast<const std::uint8_t*>(buffer_.data()), buffer_.size());
    buffer_.clear();  // keeps the memory; what cannot be written is discarded
    write_all(STDOUT_FILENO, pending, "write error", cancellation_);
}

}  // namespace cleave::cli
