// Finds the preamble of an input: PreambleOptions says which lines it has. Knows no quotes and no records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cleave/dialect.h"

namespace cleave {

struct Preamble {
    std::uint64_t size = 0;                 // in bytes, a byte order mark included; 0 if there is none
    std::optional<std::uint8_t> delimiter;  // that a separator line names
    // Of its lines. If it is sniffed: kCr if the first line ends so, and no LF is in the preamble. Behind it an LF may
    // still stand outside quotes, which find_preamble() does not know.
    Terminator terminator = Terminator::kLf;
    std::optional<std::uint64_t> first_end;  // the offset at which the first line ends: of its CR for CRLF

    // Whether an LF is there, which stands outside quotes: they mean nothing in these lines.
    bool has_feed() const { return size > 0 && terminator == Terminator::kLf; }
};

// The preamble of an input with this head, or nothing if it does not end in the head. `is_all`: the head is the input.
// If the dialect of `wanted` has a preamble, it is that one, and the head is not looked at beyond its size.
std::optional<Preamble> find_preamble(const DialectOptions& wanted, std::span<const std::uint8_t> head, bool is_all);

// Throws InputError: the preamble does not end in the first `size` bytes.
[[noreturn]] void throw_long_preamble(std::size_t size);

// As settle_dialect() in cleave/dialect.h, but nothing if the preamble does not end in the head. `is_all`: the head is
// the input.
std::optional<SniffedDialect> settle_within(const DialectOptions& wanted, std::span<const std::uint8_t> head,
                                            bool is_all, std::string_view name);

}  // namespace cleave
