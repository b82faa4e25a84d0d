// Reads bits from bytes, the lowest bit of a byte first, as deflate stores them (RFC 1951, section 3.1.1).
#pragma once

#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>

namespace cleave {

// Loads 8 bytes, the first of them into the lowest bits.
inline std::uint64_t load_bits(const std::uint8_t* from) noexcept {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    return bits;
}

// A copy is cheap, and continues from the same bit. The bytes must outlive the reader.
class BitReader {
public:
    // What fill() and fill_fast() provide at least, unless the bytes end.
    static constexpr unsigned kFilled = 56;

    // Starts at a bit of `bytes`, which must not lie beyond their end.
    explicit BitReader(std::span<const std::uint8_t> bytes, std::uint64_t bit = 0) noexcept
        : begin_(bytes.data()), end_(bytes.data() + bytes.size()) {
        seek(bit);
    }

    void seek(std::uint64_t bit) noexcept {
        assert(bit <= static_cast<std::uint64_t>(end_ - begin_) * 8);
        next_ = begin_ + bit / 8;
        held_ = 0;
        count_ = 0;
        if (bit % 8 == 0) return;
        fill();
        drop(bit % 8);
    }

    // Number of bits before the next one.
    std::uint64_t bit() const noexcept { return static_cast<std::uint64_t>(next_ - begin_) * 8 - count_; }
    std::uint64_t end_bit() const noexcept { return static_cast<std::uint64_t>(end_ - begin_) * 8; }
    std::span<const std::uint8_t> bytes() const noexcept { return {begin_, end_}; }

    // Whether fill_fast() may be called: at least 8 bytes have not been loaded.
    bool can_fill_fast() const noexcept { return end_ - next_ >= 8; }
    bool can_fill_fast_twice() const noexcept { return end_ - next_ >= 16; }

    // May load the same bits more than once. This changes nothing, because they are combined with "or".
    void fill_fast() noexcept {
        held_ |= load_bits(next_) << count_;
        next_ += (63 - count_) >> 3;
        count_ |= kFilled;
    }

    void fill() noexcept {
        if (can_fill_fast()) return fill_fast();
        for (; count_ <= kFilled && next_ != end_; count_ += 8) held_ |= std::uint64_t{*next_++} << count_;
    }

    // The bits that are loaded; those above count() have no meaning.
    std::uint64_t held() const noexcept { return held_; }
    unsigned count() const noexcept { return count_; }

    // `size` must be less than 64, and at most count().
    void drop(std::uint64_t size) noexcept {
        held_ >>= size;
        count_ -= static_cast<unsigned>(size);
    }

    // The next bits, which are dropped. `size` must be less than 64, and at most count().
    std::uint64_t take(unsigned size) noexcept {
        const std::uint64_t bits = held_ & ((std::uint64_t{1} << size) - 1);
        drop(size);
        return bits;
    }

    // Whether there are `size` more bits, at most kFilled. Loads them.
    bool has(unsigned size) noexcept {
        if (count_ < size) fill();
        return count_ >= size;
    }

private:
    const std::uint8_t* begin_;
    const std::uint8_t* end_;
    const std::uint8_t* next_ = nullptr;
    std::uint64_t held_ = 0;
    unsigned count_ = 0;
};

}  // namespace cleave
