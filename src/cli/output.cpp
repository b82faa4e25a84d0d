#include "cli/output.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <utility>

#include "io/fd.h"

namespace cleave::cli {
namespace {

void write_to_stdout(std::span<const std::uint8_t> bytes) { write_all(STDOUT_FILENO, bytes, "write error"); }

}  // namespace

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
    write_to_stdout(bytes);
}

void StandardOutput::flush() {
    const fmt::memory_buffer pending =
        std::exchange(buffer_, fmt::memory_buffer());  // gone even if it cannot be written
    write_to_stdout({reinterpret_cast<const std::uint8_t*>(pending.data()), pending.size()});
}

bool is_terminal(int descriptor) {
    const char* kind = std::getenv("TERM");
    return ::isatty(descriptor) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

std::string printable(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        constexpr unsigned char kDelete = 0x7F;
        // The second block of control characters, U+0080 to U+009F, as UTF-8 has them.
        const bool is_wide_control = byte == 0xC2 && next >= 0x80 && next < 0xA0;
        if (byte < ' ' || byte == kDelete || is_wide_control) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out += text[i];
        }
        if (is_wide_control) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    }
    return out;
}

std::string display_name(const std::string& path) { return path == "-" ? "stdin" : path; }

std::string describe_place(const Place& place, bool has_header) {
    const std::uint64_t record = place.record + (has_header ? 0 : 1);
    if (record == 0) return fmt::format("(byte {}, in the header)", place.offset);
    return fmt::format("(byte {}, record {})", place.offset, record);
}

void print_message(std::string_view text) noexcept {
    try {
        const char* rest = is_terminal(STDERR_FILENO) ? "\x1b[K" : "";  // of a bar that is longer
        const std::string line = fmt::format("cleave: {}{}\n", printable(text), rest);
        write_all(STDERR_FILENO, {reinterpret_cast<const std::uint8_t*>(line.data()), line.size()}, "stderr");
    } catch (const std::exception&) {  // there is no one left to tell
    }
}

}  // namespace cleave::cli
