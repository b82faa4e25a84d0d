#include "features/redact/stage/dialect_codec.h"

#include <cctype>
#include <cstdint>
#include <cstring>

#include "cleave/memory_manager.h"

namespace cleave {

DialectCodec::DialectCodec(const Dialect& dialect)
    : decoder_(dialect),
      quote_(dialect.quote.value_or(0)),
      escape_(dialect.escape.value_or(0)),
      has_quote_(dialect.quote.has_value()),
      has_escape_(dialect.escape.has_value()),
      escapes_everywhere_(has_escape_ && dialect.escape_scope == EscapeScope::kEverywhere) {
    for (const std::uint8_t byte :
         {static_cast<std::uint8_t>('\r'), static_cast<std::uint8_t>('\n'), dialect.delimiter}) {
        in_plain_[byte] = true;
    }
    if (has_quote_) in_plain_[quote_] = in_quotes_[quote_] = true;
    if (escapes_everywhere_) in_plain_[escape_] = true;
    if (has_escape_) in_quotes_[escape_] = true;
    for (std::size_t byte = 0; byte < in_plain_.size(); ++byte) {
        const bool is_in_alphabet =
            byte < 0x80 && (std::isalnum(static_cast<int>(byte)) != 0 || byte == '.' || byte == '-' || byte == '_');
        if (is_in_alphabet && (in_plain_[byte] || in_quotes_[byte])) is_plain_alphabet_ = false;
    }
}

bool DialectCodec::is_plain(Value value) const {
    bool is_special = false;
    for (std::uint64_t i = 0; i < value.size; ++i) is_special |= in_plain_[value.data[i]];
    return !is_special;
}

bool DialectCodec::is_always_plain(Value value) const {
    bool is_special = false;
    for (std::uint64_t i = 0; i < value.size; ++i) is_special |= in_quotes_[value.data[i]];
    return !is_special && is_plain(value);
}

std::optional<std::uint64_t> DialectCodec::encode(std::uint8_t* out, std::uint64_t size, bool is_quoted) const {
    if (!is_quoted) {
        if (is_plain({out, size})) return size;
        if (!has_quote_)
            return escapes_everywhere_ ? std::optional(expand(out, size, in_plain_, escape_)) : std::nullopt;
        std::memmove(out + 1, out, size);
    }
    out[0] = quote_;
    size = expand(out + 1, size, in_quotes_, has_escape_ ? std::optional(escape_) : std::nullopt);
    out[1 + size] = quote_;
    return size + 2;
}

// Inserts a byte before each special byte: `with`, or the special byte a second time. Works in place, from the back.
std::uint64_t DialectCodec::expand(std::uint8_t* bytes, std::uint64_t size, const std::array<bool, 256>& special,
                                   std::optional<std::uint8_t> with) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < size; ++i) count += special[bytes[i]] ? 1U : 0U;
    const std::uint64_t expanded = size + count;
    for (std::uint64_t from = size, to = expanded; to != from;) {
        const std::uint8_t byte = bytes[--from];
        bytes[--to] = byte;
        if (special[byte]) bytes[--to] = with.value_or(byte);
    }
    return expanded;
}

std::vector<std::string> values_of(const RecordBlock& block, std::size_t r, const Dialect& dialect,
                                   const DialectCodec& codec) {
    std::vector<std::string> values;
    ValueBuffer scratch(MemoryManager::or_default(nullptr));
    std::uint32_t begin = block.rows[r].begin;
    for (std::size_t i = block.rows[r].first; i < block.rows[r + 1].first; ++i) {
        const bool is_last = i + 1 == block.rows[r + 1].first;
        const std::uint32_t end =
            is_last ? content_end(block.bytes, block.rows[r].begin, block.ends[i], dialect) : block.ends[i];
        const Value value = codec.decode(block.bytes.data() + begin, block.bytes.data() + end, scratch);
        values.emplace_back(reinterpret_cast<const char*>(value.data), value.size);
        begin = block.ends[i] + 1;
    }
    return values;
}

}  // namespace cleave
