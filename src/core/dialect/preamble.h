// Finds the preamble of an input: the lines that PreambleOptions describes. Knows nothing about quotes or records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cleave/dialect.h"

namespace cleave {

struct Preamble {
    std::uint64_t size = 0;                 // in bytes, including a byte order mark; 0 if there is no preamble
    std::optional<std::uint8_t> delimiter;  // from a separator line
    // The terminator of its lines. If this is sniffed, it is kCr if the first line ends with a CR and the preamble
    // contains no LF. There may still be an LF outside quotes after the preamble, where find_preamble() does not look.
    Terminator terminator = Terminator::kLf;
    std::optional<std::uint64_t> first_end;  // the offset of the end of the first line; for CRLF, of its CR

    // Whether it contains an LF. Such an LF is always outside quotes, because quotes mean nothing in these lines.
    bool has_feed() const { return size > 0 && terminator == Terminator::kLf; }
};

// Returns the preamble of an input that begins with `head`, or nothing if the preamble does not end in the head.
// `is_all` says whether the head is the entire input. If the dialect in `wanted` already has a preamble, returns that
// one and looks no further into the head.
std::optional<Preamble> find_preamble(const DialectOptions& wanted, std::span<const std::uint8_t> head, bool is_all);

// Throws an InputError that says that the preamble does not end within the first `size` bytes.
[[noreturn]] void throw_long_preamble(std::size_t size);

// Like settle_dialect() in cleave/dialect.h, but returns nothing if the preamble does not end in the head. `is_all`
// says whether the head is the entire input.
std::optional<SniffedDialect> settle_within(const DialectOptions& wanted, std::span<const std::uint8_t> head,
                                            bool is_all, std::string_view name);

}  // namespace cleave
