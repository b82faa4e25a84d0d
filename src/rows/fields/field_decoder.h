// Turns the raw bytes of a field into its value by removing quotes and escapes. Never adds any.
#pragma once

#include <cstdint>
#include <cstring>

#include "cleave/dialect.h"
#include "rows/fields/value.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

// Immutable, so it can be used from any thread. A field is any range of bytes [begin, end) that FieldReader has found,
// under either Reading.
class FieldDecoder {
public:
    // The dialect must be valid.
    explicit FieldDecoder(const Dialect& dialect);

    bool is_quoted(const std::uint8_t* begin, const std::uint8_t* end) const {
        return begin != end && *begin == quote_ && has_quote_;
    }
    // Whether a field that does not begin with a quote may differ from its value.
    bool may_hide() const { return opens_anywhere_ || escapes_everywhere_; }
    // Whether the value is empty. The field must be well-formed, as under Reading::kUnambiguous.
    bool is_empty(const std::uint8_t* begin, const std::uint8_t* end) const {
        return begin == end || (end - begin == 2 && is_quoted(begin, end));
    }

    // If the field contains its value unchanged, sets `value` to a view of the field and returns true. Otherwise
    // returns false.
    bool view(const std::uint8_t* begin, const std::uint8_t* end, Value& value) const {
        const bool quoted = is_quoted(begin, end);
        if (quoted) {
            if (end - begin < 2 || end[-1] != quote_) return false;
            ++begin;
            --end;
        }
        value = {begin, static_cast<std::uint64_t>(end - begin)};
        if ((quoted || opens_anywhere_) && has(value, quote_)) return false;
        const bool escapes_act = quoted ? has_escape_ : escapes_everywhere_;
        return !escapes_act || !has(value, escape_);
    }

    // For fields for which view() returns false: writes the value to `out`. Returns the size of the value, which is at
    // most the size of the field. Writes nothing past the value.
    std::uint64_t write(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const;

    // Returns the value as a view of the field, or of a copy in `scratch`, which must not change while the value is in
    // use.
    Value decode(const std::uint8_t* begin, const std::uint8_t* end, ValueBuffer& scratch) const;

private:
    static bool has(Value value, std::uint8_t byte) {
        return value.size > 0 && std::memchr(value.data, byte, value.size) != nullptr;
    }
    std::uint8_t* write_quoted(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const;
    std::uint8_t* write_any(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t* out) const;

    std::uint8_t quote_;
    std::uint8_t escape_;
    bool has_quote_;
    bool has_escape_;
    bool escapes_everywhere_;
    bool opens_anywhere_;
};

}  // namespace cleave
