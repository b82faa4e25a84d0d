#include "core/dialect/preamble.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "base/text_bytes.h"
#include "cleave/error.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool begins_with(Bytes bytes, std::string_view text) {
    return bytes.size() >= text.size() && std::ranges::equal(bytes.first(text.size()), text, [](auto byte, char c) {
               return byte == static_cast<std::uint8_t>(c);
           });
}

// The byte X, if the bytes begin with a line `sep=X` or `"sep=X"` and X can be a delimiter.
std::optional<std::uint8_t> separator_of(Bytes bytes, Dialect dialect, bool is_all) {
    const bool is_quoted = begins_with(bytes, "\"");
    if (is_quoted) bytes = bytes.subspan(1);
    constexpr std::size_t kAt = 4;
    if (!(begins_with(bytes, "sep=") || begins_with(bytes, "SEP=")) || bytes.size() == kAt) return std::nullopt;
    dialect.delimiter = bytes[kAt];
    bytes = bytes.subspan(kAt + 1);
    if (is_quoted) {
        if (!begins_with(bytes, "\"")) return std::nullopt;
        bytes = bytes.subspan(1);
    }
    const bool is_line = bytes.empty() ? is_all : is_line_break(bytes.front());
    if (!is_line || dialect.delimiter == '"' || dialect_fault(dialect)) return std::nullopt;
    return dialect.delimiter;
}

// The terminator of the first line. CRs right before an LF belong to it.
Terminator first_terminator(Bytes head, bool is_all) {
    const auto found = std::ranges::find_if(head, is_line_break);
    const auto after = std::find_if(found, head.end(), [](std::uint8_t byte) { return byte != '\r'; });
    if (found == head.end() || *found == '\n') return Terminator::kLf;
    const bool is_cr = after == head.end() ? is_all : *after != '\n';
    return is_cr ? Terminator::kCr : Terminator::kLf;
}

// Iterates over the lines of a head.
class Lines {
public:
    struct Line {
        Bytes text;  // without its terminator
        std::size_t end;
        bool is_whole;  // false if the line may continue beyond the head
    };

    Lines(Bytes head, std::size_t begin, Terminator terminator, bool is_all)
        : head_(head), at_(begin), terminator_(terminator), is_all_(is_all) {}

    std::optional<Line> next() {
        if (at_ >= head_.size()) return std::nullopt;
        const Bytes rest = head_.subspan(at_);
        const auto found = std::ranges::find_if(rest, [&](std::uint8_t byte) { return ends_line(byte); });
        const Bytes text = rest.first(static_cast<std::size_t>(found - rest.begin()));
        at_ += text.size();
        if (at_ == head_.size()) return Line{text, at_, is_all_};
        const bool is_return = head_[at_++] == '\r' && terminator_ == Terminator::kAny;
        if (is_return && at_ == head_.size()) return Line{text, at_, is_all_};
        if (is_return && head_[at_] == '\n') ++at_;
        return Line{text, at_, true};
    }

private:
    bool ends_line(std::uint8_t byte) const {
        return (byte == '\n' && terminator_ != Terminator::kCr) || (byte == '\r' && terminator_ != Terminator::kLf);
    }

    Bytes head_;
    std::size_t at_;  // where the next line begins
    Terminator terminator_;
    bool is_all_;
};

// The end of the preamble. Its first `counted` lines belong to it whatever they contain. Returns nothing if the
// preamble does not end in the head.
std::optional<std::uint64_t> end_of_lines(Lines lines, std::uint64_t counted, std::string_view comment,
                                          bool passes_empty, bool is_all) {
    std::uint64_t end = 0;
    while (counted > 0 || !comment.empty()) {
        const auto line = lines.next();
        if (!line) return is_all ? std::optional(end) : std::nullopt;
        const bool is_taken = counted > 0 || begins_with(line->text, comment);
        const bool is_passed = passes_empty && std::ranges::all_of(line->text, is_line_break);
        const bool is_known = line->is_whole || (!is_taken && line->text.size() >= comment.size());
        if (!is_known) return std::nullopt;
        if (!is_taken && !is_passed) break;
        if (is_taken) end = line->end;
        if (counted > 0) --counted;
    }
    return end;
}

// The preamble, assuming that its lines end with `terminator`. Returns nothing if it does not end in the head.
std::optional<Preamble> find_by(Terminator terminator, const DialectOptions& wanted, Bytes head, bool is_all) {
    const PreambleOptions& options = wanted.preamble;
    Preamble preamble;
    preamble.terminator = terminator;
    std::optional<std::uint64_t> end = wanted.dialect.preamble;
    if (end == 0U) {
        const std::size_t mark = bom_size(head);
        if (options.separator_line != SeparatorLine::kData) {
            preamble.delimiter = separator_of(head.subspan(mark), wanted.dialect, is_all);
            const bool is_given = !wanted.sniff_delimiter && options.separator_line == SeparatorLine::kPreamble;
            if (is_given && preamble.delimiter != wanted.dialect.delimiter) preamble.delimiter.reset();
        }
        const std::uint64_t counted = std::max<std::uint64_t>(options.lines, preamble.delimiter ? 1 : 0);
        const bool passes_empty = wanted.dialect.header == HeaderRecord::kFirstNotEmpty;
        end = end_of_lines({head, mark, terminator, is_all}, counted, options.comment, passes_empty, is_all);
    } else if (*end > head.size() && !is_all) {
        end.reset();
    }
    if (!end) return std::nullopt;
    preamble.size = *end;
    const Bytes lines = head.first(static_cast<std::size_t>(std::min<std::uint64_t>(*end, head.size())));
    auto first = std::ranges::find(lines, terminator == Terminator::kCr ? '\r' : '\n');
    if (first == lines.end()) return preamble;
    while (first != lines.begin() && *std::prev(first) == '\r') --first;
    preamble.first_end = static_cast<std::uint64_t>(first - lines.begin());
    return preamble;
}

}  // namespace

std::optional<Preamble> find_preamble(const DialectOptions& wanted, Bytes head, bool is_all) {
    if (!wanted.sniff_terminator) return find_by(wanted.dialect.terminator, wanted, head, is_all);
    if (first_terminator(head, is_all) == Terminator::kCr) {
        const auto preamble = find_by(Terminator::kCr, wanted, head, is_all);
        const std::uint64_t size = preamble ? std::min<std::uint64_t>(preamble->size, head.size()) : head.size();
        const Bytes lines = head.first(static_cast<std::size_t>(size));
        if (std::ranges::find(lines, '\n') == lines.end()) return preamble;
    }
    return find_by(Terminator::kLf, wanted, head, is_all);
}

void throw_long_preamble(std::size_t size) {
    throw InputError("the lines before the header do not end within the first " + std::to_string(size) + " bytes");
}

}  // namespace cleave
