// Texts in constant tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cleave {

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
