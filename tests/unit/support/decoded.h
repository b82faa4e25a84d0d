// A compressed stream, decoded in order and without threads.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "cleave/compression.h"

namespace cleave::test {

struct DecodedInOrder {
    std::string text;
    std::string error;
    std::size_t left = 0;  // bytes that were not taken
    bool is_whole = false;

    bool operator==(const DecodedInOrder&) const = default;
};

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

// Gives the decoder `part` bytes at a time, and room for `room` bytes of output, except for gzip. Stops once at least
// `most` bytes are decoded.
DecodedInOrder decoded_in_order(std::string_view stream, Compression format, std::size_t part, std::size_t room,
                                std::size_t most = kAll);

}  // namespace cleave::test
