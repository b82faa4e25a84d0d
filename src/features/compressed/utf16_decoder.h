// Converts UTF-16 to UTF-8, part by part.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cleave/encoding.h"

namespace cleave {

// For one thread at a time.
class Utf16Decoder {
public:
    // `encoding` must not be kBytes.
    explicit Utf16Decoder(Encoding encoding) : encoding_(encoding) {}

    // The UTF-8 of the next bytes; valid until the next call. Empty if they do not complete a character. A byte order
    // mark becomes that of UTF-8. Throws InputError, whose text says at which byte of the UTF-16 text, for an unpaired
    // surrogate and for the mark of a different encoding; std::bad_alloc.
    std::span<const std::uint8_t> decode(std::span<const std::uint8_t> bytes);

    // Throws InputError if the text ends within a character.
    void finish() const;

private:
    [[noreturn]] void fail(const char* what, std::uint64_t offset) const;
    template <bool kIsBig>
    std::uint8_t* convert(std::span<const std::uint8_t> bytes, std::uint8_t* to);
    void check_mark(std::uint16_t unit);
    std::uint8_t* append(std::uint8_t* to, std::uint16_t unit);

    Encoding encoding_;
    std::uint64_t units_ = 0;  // converted so far, or held in high_
    std::uint16_t high_ = 0;   // the first half of a character; 0: none
    std::uint8_t odd_ = 0;     // the first byte of a unit
    bool has_odd_ = false;
    bool has_mark_ = false;
    bool has_bytes_mark_ = false;  // it begins with the first two bytes of the mark of UTF-8
    std::vector<std::uint8_t> text_;
};

}  // namespace cleave
