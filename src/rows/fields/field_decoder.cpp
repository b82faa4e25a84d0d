#include "rows/fields/field_decoder.h"

namespace cleave {

FieldDecoder::FieldDecoder(const Dialect& dialect)
    : quote_(dialect.quote.value_or(0)),
      escape_(dialect.escape.value_or(0)),
      has_quote_(dialect.quote.has_value()),
      has_escape_(dialect.escape.has_value()),
      escapes_everywhere_(has_escape_ && dialect.escape_scope == EscapeScope::kEverywhere),
      opens_anywhere_(has_quote_ && dialect.quoting == Quoting::kAnywhere) {}

// Writes the value of a well-formed quoted field and returns its end. Returns null for any other field.
std::uint8_t* FieldDecoder::write_quoted(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const {
    if (!is_quoted(begin, end) || end - begin < 2 || end[-1] != quote_) return nullptr;
    const std::uint8_t escape = has_escape_ ? escape_ : quote_;
    --end;
    for (++begin; begin != end; ++begin) {
        if (*begin == quote_ || *begin == escape) {
            const bool is_stray = *begin == quote_ && begin[1] != quote_;
            ++begin;
            if (is_stray || begin == end) return nullptr;
        }
        *out++ = *begin;
    }
    return out;
}

// Writes the value of any field and returns its end. It takes the same steps as StateMachine, but without line breaks
// and delimiters, which are plain data inside a field. If the last byte is an escape, there is nothing after it to
// escape, so it is data.
std::uint8_t* FieldDecoder::write_any(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const {
    enum class At : std::uint8_t { kStart, kUnquoted, kQuoted, kAfterQuote };
    At at = At::kStart;
    for (; begin != end; ++begin) {
        const bool is_quote = has_quote_ && *begin == quote_;
        if (is_quote && at == At::kQuoted) {
            at = At::kAfterQuote;
            continue;
        }
        if (is_quote && (at == At::kStart || (at == At::kUnquoted && opens_anywhere_))) {
            at = At::kQuoted;
            continue;
        }
        const bool escapes_act = at == At::kQuoted       ? has_escape_
                                 : at == At::kAfterQuote ? escapes_everywhere_ && opens_anywhere_
                                                         : escapes_everywhere_;
        const bool is_doubled = is_quote && at == At::kAfterQuote;
        if (escapes_act && *begin == escape_ && begin + 1 != end) ++begin;
        *out++ = *begin;
        if (at != At::kQuoted) at = is_doubled ? At::kQuoted : At::kUnquoted;
    }
    return out;
}

std::uint64_t FieldDecoder::write(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const {
    const std::uint8_t* written = write_quoted(begin, end, out);
    if (written == nullptr) written = write_any(begin, end, out);
    return static_cast<std::uint64_t>(written - out);
}

Value FieldDecoder::decode(const std::uint8_t* begin, const std::uint8_t* end, ValueBuffer& scratch) const {
    Value value{};
    if (view(begin, end, value)) return value;
    scratch.reserve(static_cast<std::size_t>(end - begin));
    return {scratch.data(), write(begin, end, scratch.data())};
}

}  // namespace cleave
