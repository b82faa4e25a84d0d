// Decisions that a fuzzer makes, taken from the front of its input; the rest of the input is the text to test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cleave/dialect.h"
#include "cleave/plan.h"

namespace cleave::test {

class Choices {
public:
    // The input must outlive the choices.
    explicit Choices(std::span<const std::uint8_t> input) : input_(input), left_(input) {}

    // Once the input is used up, all choices are 0.
    std::uint8_t byte();
    // Returns 0 .. limit - 1; takes two bytes if one is not enough. limit is 1 .. 65536.
    std::size_t below(std::size_t limit);
    std::uint64_t number();  // from eight bytes
    bool one_in(std::size_t count) { return below(count) == count - 1; }
    // Depends on the whole input rather than on one byte, so that the fuzzer cannot learn to prefer slow cases.
    bool rarely(std::size_t count) const;

    // Returns a valid dialect, sometimes with unusual bytes.
    Dialect dialect();
    HeaderMode header_mode();
    HeaderRecord header_record();  // usually kFirstNotEmpty
    // Takes the next `size` bytes, or as many as are left.
    std::string text(std::size_t size);
    // The number of bytes taken so far.
    std::size_t taken() const { return input_.size() - left_.size(); }

private:
    std::span<const std::uint8_t> input_;
    std::span<const std::uint8_t> left_;
};

// Repeats the text up to `size` bytes; an empty text becomes 'a's.
std::string repeated(std::string_view text, std::size_t size);

}  // namespace cleave::test
