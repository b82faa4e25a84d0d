#include "cli/messages.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/utf8.h"
#include "cli/formatted.h"

namespace cleave::cli {

std::string format_all(fmt::string_view format, fmt::format_args arguments) { return fmt::vformat(format, arguments); }

void append_all(fmt::memory_buffer& buffer, fmt::string_view format, fmt::format_args arguments) {
    fmt::vformat_to(fmt::appender(buffer), format, arguments);
}

namespace {

// Writes lines of any length to standard error, without allocating memory. Bytes that cannot be written are lost.
class MessageWriter {
public:
    void append(std::string_view text) {
        while (!text.empty()) {
            const std::size_t size = text.copy(buffer_.data() + used_, buffer_.size() - used_);
            used_ += size;
            text.remove_prefix(size);
            if (used_ == buffer_.size()) flush();
        }
    }

    void flush() {
        const char* begin = buffer_.data();
        const char* const end = begin + std::exchange(used_, 0);
        while (begin < end) {
            const ssize_t size = ::write(STDERR_FILENO, begin, static_cast<std::size_t>(end - begin));
            if (size > 0) begin += size;
            if (size >= 0 || errno == EINTR) continue;
            pollfd waits{STDERR_FILENO, POLLOUT, 0};
            if (errno != EAGAIN || ::poll(&waits, 1, -1) < 0) return;
        }
    }

private:
    std::array<char, 4096> buffer_;
    std::size_t used_ = 0;
};

// A UTF-8 character, or one byte that is not part of one.
struct Character {
    std::size_t size = 1;
    std::optional<char32_t> code;
};

Character character_at(std::string_view text, std::size_t i) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(text.data()) + i;
    const std::uint64_t size = utf8_size(at, at + (text.size() - i));
    if (size == 0) return {};
    constexpr std::array<unsigned, 4> kLeadBits = {0x7F, 0x1F, 0x0F, 0x07};  // the code bits in the first byte
    char32_t code = at[0] & kLeadBits.at(size - 1);
    for (std::uint64_t k = 1; k < size; ++k) code = code << 6 | (at[k] & 0x3FU);
    return {size, code};
}

// How many columns a character takes on a terminal, according to its Unicode block: 0 for combining marks, 2 for East
// Asian wide characters and emoji, 1 for all others.
std::size_t columns_of(char32_t code) {
    struct Range {
        char32_t first, last;
        std::size_t columns;
    };
    static constexpr std::array<Range, 15> kRanges = {{{0x0300, 0x036F, 0},
                                                       {0x1100, 0x115F, 2},
                                                       {0x200B, 0x200F, 0},
                                                       {0x20D0, 0x20FF, 0},
                                                       {0x2E80, 0x303E, 2},
                                                       {0x3041, 0xA4CF, 2},
                                                       {0xA960, 0xA97F, 2},
                                                       {0xAC00, 0xD7A3, 2},
                                                       {0xF900, 0xFAFF, 2},
                                                       {0xFE00, 0xFE0F, 0},
                                                       {0xFE30, 0xFE6F, 2},
                                                       {0xFF00, 0xFF60, 2},
                                                       {0xFFE0, 0xFFE6, 2},
                                                       {0x1F300, 0x1FAFF, 2},
                                                       {0x20000, 0x3FFFD, 2}}};
    const auto* range = std::ranges::lower_bound(kRanges, code, {}, &Range::last);
    return range != kRanges.end() && range->first <= code ? range->columns : 1;
}

void print_after(std::string_view beginning, std::string_view text) {
    MessageWriter writer;
    writer.append(beginning);
    append_printable(text, [&](std::string_view part) { writer.append(part); });
    writer.append(is_terminal(STDERR_FILENO) ? "\x1b[K\n" : "\n");  // clears the rest of a bar
    writer.flush();
}

}  // namespace

bool is_terminal(int descriptor) {
    const char* kind = std::getenv("TERM");
    return ::isatty(descriptor) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

PrintableData printable_data(std::string_view text, std::size_t caret) {
    PrintableData shown;
    std::size_t columns = 0;
    for (std::size_t i = 0; i < text.size();) {
        const Character character = character_at(text, i);
        const std::string_view bytes = text.substr(i, character.size);
        const std::string printed = character.code ? printable(bytes) : std::string(EscapedByte(bytes.front()).text());
        if (i + character.size > caret && i <= caret) shown.caret = columns;
        columns += printed == bytes ? columns_of(*character.code) : printed.size();
        shown.text += printed;
        i += character.size;
    }
    if (caret >= text.size()) shown.caret = columns;
    return shown;
}

bool wants_colour(int descriptor) {
    const char* refusal = std::getenv("NO_COLOR");
    return is_terminal(descriptor) && (refusal == nullptr || *refusal == '\0');
}

std::uint64_t record_number(const Place& place, std::uint64_t header_records) {
    return place.record < header_records ? 0 : place.record - header_records + 1;
}

std::string describe_place(const Place& place, std::uint64_t header_records, std::optional<std::uint64_t> line) {
    const std::uint64_t record = record_number(place, header_records);
    return formatted("(byte {}, {}{})", place.offset, line ? formatted("line {}, ", *line) : "",
                     record == 0 ? "in the header" : formatted("record {}", record));
}

void print_message(std::string_view text) noexcept { print_after("cleave: ", text); }

void print_line(std::string_view text) noexcept { print_after("", text); }

void print_detail(std::string_view text) noexcept { print_after("  ", text); }

void print_warning(std::string_view text) noexcept { print_after("cleave: warning: ", text); }

}  // namespace cleave::cli
