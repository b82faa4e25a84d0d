#include "features/redact/stage/ambiguous.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/text_bytes.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// The first such byte at or after `at`, or `end` if there is none.
const std::uint8_t* next(const std::uint8_t* at, const std::uint8_t* end, std::uint8_t byte) noexcept {
    const void* const found = at == end ? nullptr : std::memchr(at, byte, static_cast<std::size_t>(end - at));
    return found == nullptr ? end : static_cast<const std::uint8_t*>(found);
}

// Whether the byte at `at`, which is not a quote, is in a field that begins with one.
bool is_in_quoted_field(const RecordBlock& block, std::size_t row, std::uint32_t at, std::uint8_t quote) {
    const auto ends = block.ends.subspan(block.rows[row].first, block.rows[row + 1].first - block.rows[row].first);
    const auto end = std::ranges::lower_bound(ends, at);
    const std::uint32_t begin = end == ends.begin() ? block.rows[row].begin : *(end - 1) + 1;
    return block.bytes[begin] == quote;
}

}  // namespace

void refuse_escaped_quotes(const RecordBlock& block, std::uint8_t quote) {
    const std::uint8_t* const begin = block.bytes.data();
    const std::uint8_t* const end = begin + block.bytes.size();
    for (const std::uint8_t* at = next(begin, end, '\\'); at != end; at = next(at + 1, end, '\\')) {
        if (at + 1 == end || at[1] != quote) continue;
        const auto offset = static_cast<std::uint32_t>(at - begin);
        const auto after = std::ranges::upper_bound(block.rows, offset, {}, &FieldRow::begin);
        const auto row = static_cast<std::size_t>(after - block.rows.begin()) - 1;
        if (!is_in_quoted_field(block, row, offset, quote)) continue;
        throw InputError("a backslash before a quote: -e '\\' says that it escapes the quote, -e none that it does not",
                         Place{block.place.offset + offset, block.place.record + row});
    }
}

bool has_escaped_quote(std::span<const std::uint8_t> bytes, std::uint8_t quote) noexcept {
    const std::uint8_t* const end = bytes.data() + bytes.size();
    for (const std::uint8_t* at = next(bytes.data(), end, '\\'); at != end; at = next(at + 1, end, '\\')) {
        if (at + 1 == end || at[1] == quote) return true;
    }
    return false;
}

bool has_reserved_text(std::span<const std::uint8_t> value) noexcept {
    constexpr std::string_view kText = "cleave ";
    const std::uint8_t* const end = value.data() + value.size();
    for (const std::uint8_t* at = next(value.data(), end, 0xFF); at != end; at = next(at + 1, end, 0xFF)) {
        if (static_cast<std::size_t>(end - at) <= kText.size()) return false;
        const bool is_text = std::equal(kText.begin(), kText.end(), at + 1, [](char letter, std::uint8_t byte) {
            return letter == to_lower(static_cast<char>(byte));
        });
        if (is_text) return true;
    }
    return false;
}

}  // namespace cleave
