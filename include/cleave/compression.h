// Compressed streams. gzip (RFC 1952) and Zstandard (RFC 8878) are read and written; xz, bzip2, LZ4 frames and
// zip archives of one file are only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

enum class Compression : std::uint8_t { kNone, kGzip, kZstd, kXz, kBzip2, kLz4, kZip };

// How to compress a piece. The level is the one that the gzip or zstd command takes, from least_level() to
// most_level(). Functions that compress throw ArgumentError for any other level, and for a format that is only read.
struct CompressionOptions {
    Compression format = Compression::kNone;
    std::optional<int> level = {};  // not set: default_level(); ignored for kNone
};

// Whether pieces can be compressed in this format; false for kNone.
bool is_writable(Compression format);

// 0 for a format that cannot be written.
int least_level(Compression format);
int most_level(Compression format);
int default_level(Compression format);

// "none", "gzip", "zstd", "xz", "bzip2", "lz4", "zip".
std::string_view compression_name(Compression format);
// ".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip"; empty for kNone.
std::string_view compression_suffix(Compression format);

// The format whose suffix the path ends in; kNone if there is none.
Compression compression_named_by(std::string_view path);
// The path without that suffix.
std::string_view without_compression_suffix(std::string_view path);

// The format of data that begins with `head`; kNone if it is not compressed. The first kMagicSize bytes are enough.
// Office documents, which are zip archives, are not meant.
constexpr std::size_t kMagicSize = 64;
Compression compression_of(std::span<const std::uint8_t> head);

// Whether data that ends after `head` is nothing, or the first bytes with which each stream of the format begins: what
// an interrupted download leaves.
bool is_cut_short(Compression format, std::span<const std::uint8_t> head);

}  // namespace cleave
