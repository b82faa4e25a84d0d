// Compressed streams: gzip (RFC 1952) and Zstandard (RFC 8878).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd };

// How to compress a piece. The level is the one that the gzip or zstd command takes, from least_level() to
// most_level(). Functions that compress throw ArgumentError for any other level.
struct CompressionOptions {
    Compression format = Compression::kNone;
    std::optional<int> level = {};  // not set: default_level(); ignored for kNone
};

int least_level(Compression format);
int most_level(Compression format);
int default_level(Compression format);

// "none", "gzip", "zstd".
std::string_view compression_name(Compression format);
// ".gz", ".zst"; empty for kNone.
std::string_view compression_suffix(Compression format);

// The path without the suffix of a compressed file, if it has one.
std::string_view without_compression_suffix(std::string_view path);

// The format of data that begins with `head`; kNone if it is not compressed. The first kMagicSize bytes are enough.
constexpr std::size_t kMagicSize = 4;
Compression compression_of(std::span<const std::uint8_t> head);

}  // namespace cleave
