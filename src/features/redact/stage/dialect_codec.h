// Converts the value of a field to the form that it has in a file, by adding quotes and escapes. FieldDecoder removes
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "features/redact/stage/value.h"
#include "rows/fields/field_decoder.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

// Immutable; any thread may use it.
class DialectCodec {
public:
    explicit DialectCodec(const Dialect& dialect);

    // See FieldDecoder.
    bool is_quoted(const std::uint8_t* begin, const std::uint8_t* end) const { return decoder_.is_quoted(begin, end); }
    bool is_empty(const std::uint8_t* begin, const std::uint8_t* end) const { return decoder_.is_empty(begin, end); }
    bool view(const std::uint8_t* begin, const std::uint8_t* end, Value& value) const {
        return decoder_.view(begin, end, value);
    }
    Value decode(const std::uint8_t* begin, const std::uint8_t* end, ValueBuffer& scratch) const {
        return decoder_.decode(begin, end, scratch);
    }

    // The room that encode() needs for a value of `size` bytes.
    static std::uint64_t room_for(std::uint64_t size) { return 2 * size + 2; }

    // Turns a value into a field at `out`, in quotes if `is_quoted` or if the value needs them. The value must already
    // be at `out` or, if `is_quoted`, one byte later, which leaves room for the opening quote. Returns the size of the
    // field, or std::nullopt if the dialect cannot represent the value.
    std::optional<std::uint64_t> encode(std::uint8_t* out, std::uint64_t size, bool is_quoted) const;

    // Whether the dialect can represent the value as an unquoted field without escapes.
    bool is_plain(Value value) const;
    bool can_carry(Value value) const { return has_quote_ || escapes_everywhere_ || is_plain(value); }
    // Whether the value stays as it is both in unquoted fields and in quoted ones.
    bool is_always_plain(Value value) const;
    // Whether is_always_plain() holds for all values of ASCII letters, digits, '.', '-' and '_'.
    bool is_plain_alphabet() const { return is_plain_alphabet_; }

private:
    static std::uint64_t expand(std::uint8_t* bytes, std::uint64_t size, const std::array<bool, 256>& special,
                                std::optional<std::uint8_t> with);

    FieldDecoder decoder_;
    std::uint8_t quote_;
    std::uint8_t escape_;
    bool has_quote_;
    bool has_escape_;
    bool escapes_everywhere_;
    bool is_plain_alphabet_ = true;
    std::array<bool, 256> in_plain_{};   // bytes that an unquoted field cannot hold as they are
    std::array<bool, 256> in_quotes_{};  // bytes that a quoted field cannot hold as they are
};

// The values of one record as text, for headers and small tables. Records of an input are never turned into this.

// The values of record `r`.
std::vector<std::string> values_of(const RecordBlock& block, std::size_t r, const Dialect& dialect,
                                   const DialectCodec& codec);

}  // namespace cleave
