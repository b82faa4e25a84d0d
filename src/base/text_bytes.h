// The bytes of texts, and texts in constant tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cleave {

// A view of the text, which must outlive it.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline bool is_line_break(std::uint8_t byte) { return byte == '\n' || byte == '\r'; }

// An ASCII letter in lower case, whatever the locale.

inline char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A text of at most `kCapacity` bytes, made from a literal, which may contain NULs. It holds the characters, not a
// pointer to them: the loader adjusts every pointer of a table in every run, for a text that few runs need.
template <std::size_t kCapacity>
class TextInPlace {
public:
    consteval TextInPlace() = default;
    template <std::size_t kSize>
    // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): tables are full of them
    consteval TextInPlace(const char (&literal)[kSize]) : size_(kSize - 1) {
        static_assert(kSize - 1 <= kCapacity);
        std::copy_n(literal, kSize - 1, bytes_);
    }

    // Valid for as long as the table.
    constexpr std::string_view view() const noexcept { return {bytes_, size_}; }

private:
    static_assert(kCapacity <= UINT8_MAX);

    char bytes_[kCapacity]{};
    std::uint8_t size_ = 0;
};

}  // namespace cleave
