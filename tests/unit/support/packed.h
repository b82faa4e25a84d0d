// Compressed texts: gzip as the library writes it, and streams in the formats that are only read, made and read by the
// libraries of the formats, each in one call. And streams decoded in order, without threads.
#pragma once

#include <lzma.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "cleave/compression.h"

namespace cleave::test {

std::string xz_of(const std::string& text, lzma_check check = LZMA_CHECK_CRC32);
// One xz stream of many blocks, which state their sizes, as xz -T2 writes it.
std::string blocks_of(const std::string& text, std::size_t block);
std::string bzip2_of(const std::string& text);
// One gzip member.
std::string gzipped(const std::string& text);
// One frame, with all checksums and the size; for a dictionary with this number, unless it is 0.
std::string lz4_of(const std::string& text, unsigned dictionary = 0);
// One stream of xz, bzip2 or lz4.
std::string packed(Compression format, const std::string& text);

// The text of exactly one stream of xz, bzip2 or lz4; nothing if there is no such stream.
std::optional<std::string> decoded_at_once(Compression format, const std::string& stream);

// The text of the one file that the directory of a zip archive lists, if its sizes have 32 bits; nothing if something
// is wrong with it. Believes the directory, and reads nothing else but the data.
std::optional<std::string> unzipped(const std::string& archive);

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
