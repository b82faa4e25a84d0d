// Counts what is not text: bytes that are not UTF-8, and NULs.
//
//   64 bytes at a time, as long as they are text: each byte is compared with what the three bytes before it demand, 16
//   at once. Where one differs, a state machine reads the step again and says which sequence is ill-formed.
//
// UTF-8 is what the Unicode Standard, table 3-7, allows: no overlong forms, no surrogates, nothing above U+10FFFF. An
// ill-formed sequence is what a decoder would replace with one U+FFFD ("maximal subpart").
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace cleave {

// Use from one thread at a time.
class TextCensus {
public:
    struct Count {
        std::uint64_t count = 0;
        std::optional<std::uint64_t> first;  // offset, counted from the first byte of all
    };

    void feed(std::span<const std::uint8_t> bytes);
    // Call at the end of the input or before an ASCII byte.
    void finish();

    const Count& ill_formed() const { return ill_formed_; }
    const Count& nuls() const { return nuls_; }

private:
    void read(std::uint8_t byte, std::uint64_t offset);

    std::uint64_t offset_ = 0;  // of the next byte
    Count ill_formed_;
    Count nuls_;
    // The sequence in progress: how many bytes it lacks, where it began, and between which bytes the next one lies.
    unsigned missing_ = 0;
    std::uint64_t begin_ = 0;
    std::uint8_t least_ = 0;
    std::uint8_t most_ = 0;
};

}  // namespace cleave
