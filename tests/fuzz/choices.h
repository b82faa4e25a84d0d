// Decisions that a fuzzer makes: they are taken from the front of its input, and what is left of it is a text.
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

    // Once the input is used up, everything is 0.
    std::uint8_t byte();
    // 0 .. limit - 1; takes two bytes if one would not reach so far. limit is 1 .. 65536.
    std::size_t below(std::size_t limit);
    std::uint64_t number();  // of eight bytes
    bool one_in(std::size_t count) { return below(count) == count - 1; }
    // By all of the input and not by a byte of it, so that the fuzzer cannot come to prefer what is slow.
    bool rarely(std::size_t count) const;

    // Without a fault. Sometimes its bytes are unusual ones.
    Dialect dialect();
    HeaderMode header_mode();
    HeaderRecord header_record();  // mostly the usual one
    // The first `size` bytes that are left, or fewer; all but the last ones of an input may be such.
    std::string text(std::size_t size);
    // How many bytes of the input have been taken.
    std::size_t taken() const { return input_.size() - left_.size(); }

private:
    std::span<const std::uint8_t> input_;
    std::span<const std::uint8_t> left_;
};

// The text over and over, `size` bytes; of nothing it is 'a's.
std::string repeated(std::string_view text, std::size_t size);

}  // namespace cleave::test
