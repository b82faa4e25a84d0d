#include "cleave/compression.h"

#include <array>

namespace cleave {
namespace {

struct Row {
    Compression format;
    std::string_view name;
    std::string_view suffix;
    int least_level, most_level, default_level;
};

// Indexed by Compression. Levels of zstd above 19 are left out, because reading then needs as much memory as writing.
constexpr std::array<Row, 3> kRows = {{
    {Compression::kNone, "none", "", 0, 0, 0},
    {Compression::kGzip, "gzip", ".gz", 1, 9, 6},
    {Compression::kZstd, "zstd", ".zst", 1, 19, 3},
}};

const Row& row_of(Compression format) { return kRows.at(static_cast<std::size_t>(format)); }

}  // namespace

int least_level(Compression format) { return row_of(format).least_level; }
int most_level(Compression format) { return row_of(format).most_level; }
int default_level(Compression format) { return row_of(format).default_level; }
std::string_view compression_name(Compression format) { return row_of(format).name; }
std::string_view compression_suffix(Compression format) { return row_of(format).suffix; }

std::string_view without_compression_suffix(std::string_view path) {
    for (const Row& row : kRows) {
        if (!row.suffix.empty() && path.ends_with(row.suffix)) return path.substr(0, path.size() - row.suffix.size());
    }
    return path;
}

Compression compression_of(std::span<const std::uint8_t> head) {
    using namespace std::string_view_literals;
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (text.starts_with("\x1F\x8B\x08"sv)) return Compression::kGzip;  // deflate is the only method that exists
    if (text.starts_with("\x28\xB5\x2F\xFD"sv)) return Compression::kZstd;
    // One of the sixteen kinds of skippable frames.
    const bool is_skippable =
        text.size() >= kMagicSize && (head[0] & 0xF0) == 0x50 && text.substr(1, 3) == "\x2A\x4D\x18"sv;
    return is_skippable ? Compression::kZstd : Compression::kNone;
}

}  // namespace cleave
