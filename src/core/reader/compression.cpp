#include "cleave/compression.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cleave {
namespace {

struct Properties {
    Compression format;
    std::string_view name;
    std::string_view suffix;
    int least_level, most_level, default_level;
};

// Indexed by Compression. Levels of zstd above 19 are left out, because reading then needs as much memory as writing. A
// format without levels is only read.
constexpr std::array<Properties, 7> kProperties = {{
    {Compression::kNone, "none", "", 0, 0, 0},
    {Compression::kGzip, "gzip", ".gz", 1, 9, 6},
    {Compression::kZstd, "zstd", ".zst", 1, 19, 3},
    {Compression::kXz, "xz", ".xz", 0, 0, 0},
    {Compression::kBzip2, "bzip2", ".bz2", 0, 0, 0},
    {Compression::kLz4, "lz4", ".lz4", 0, 0, 0},
    {Compression::kZip, "zip", ".zip", 0, 0, 0},
}};

using namespace std::string_view_literals;

// How a stream of each format begins. gzip: deflate is the only method that exists. bzip2: a block follows, or the end
// of an empty stream. LZ4 has the same skippable frames as zstd; after long ones a stream counts as zstd.
struct Magic {
    Compression format;
    std::string_view begin;
};
constexpr std::string_view kLz4Frame = "\x04\x22\x4D\x18"sv;
constexpr std::string_view kBzip2Begin = "BZh"sv;
constexpr std::string_view kZipMember = "PK\3\4"sv;
constexpr std::array<Magic, 4> kMagics = {{
    {Compression::kGzip, "\x1F\x8B\x08"sv},
    {Compression::kZstd, "\x28\xB5\x2F\xFD"sv},
    {Compression::kXz,
     "\xFD"
     "7zXZ\0"sv},
    {Compression::kLz4, kLz4Frame},
}};

bool is_bzip2(std::string_view text) {
    constexpr std::size_t kLevel = 3;
    constexpr std::size_t kSize = 10;
    if (text.size() < kSize || !text.starts_with(kBzip2Begin)) return false;
    const std::string_view begin = text.substr(kLevel + 1, kSize - kLevel - 1);
    return text[kLevel] >= '1' && text[kLevel] <= '9' &&
           (begin == "1AY&SY"sv || begin ==
                                       "\x17"
                                       "rE8P\x90"sv);
}

// A member of an archive, or the end of one without any. The first member of an Office document has one of two names.
bool is_zip(std::string_view text) {
    constexpr std::size_t kName = 30;
    const std::string_view name = text.substr(std::min(kName, text.size()));
    return text.starts_with("PK\5\6"sv) || (text.starts_with(kZipMember) && !name.starts_with("[Content_Types].xml") &&
                                            !name.starts_with("mimetypeapplication/"));
}

// One of the sixteen kinds.
bool is_skippable_frame(std::string_view text) {
    return text.size() >= 4 && (static_cast<unsigned char>(text[0]) & 0xF0U) == 0x50 &&
           text.substr(1, 3) == "\x2A\x4D\x18"sv;
}

// What follows the skippable frames that the text begins with.
std::string_view after_skippable_frames(std::string_view text) {
    constexpr std::size_t kHeader = 8;
    while (is_skippable_frame(text) && text.size() >= kHeader) {
        std::size_t size = 0;
        for (std::size_t at = kHeader; at-- > 4;) size = size << 8 | static_cast<unsigned char>(text[at]);
        text.remove_prefix(std::min(kHeader + size, text.size()));
    }
    return text;
}

const Properties& properties_of(Compression format) { return kProperties.at(static_cast<std::size_t>(format)); }

}  // namespace

bool is_writable(Compression format) { return properties_of(format).most_level > 0; }
int least_level(Compression format) { return properties_of(format).least_level; }
int most_level(Compression format) { return properties_of(format).most_level; }
int default_level(Compression format) { return properties_of(format).default_level; }
std::string_view compression_name(Compression format) { return properties_of(format).name; }
std::string_view compression_suffix(Compression format) { return properties_of(format).suffix; }

Compression compression_named_by(std::string_view path) {
    for (const Properties& row : kProperties) {
        if (!row.suffix.empty() && path.ends_with(row.suffix)) return row.format;
    }
    return Compression::kNone;
}

std::string_view without_compression_suffix(std::string_view path) {
    return path.substr(0, path.size() - compression_suffix(compression_named_by(path)).size());
}

Compression compression_of(std::span<const std::uint8_t> head) {
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    for (const Magic& magic : kMagics) {
        if (text.starts_with(magic.begin)) return magic.format;
    }
    if (is_bzip2(text)) return Compression::kBzip2;
    if (is_zip(text)) return Compression::kZip;
    if (!is_skippable_frame(text)) return Compression::kNone;
    return after_skippable_frames(text).starts_with(kLz4Frame) ? Compression::kLz4 : Compression::kZstd;
}

bool is_cut_short(Compression format, std::span<const std::uint8_t> head) {
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    if (format == Compression::kBzip2) return kBzip2Begin.starts_with(text);
    if (format == Compression::kZip) return kZipMember.starts_with(text);
    return std::ranges::any_of(
        kMagics, [&](const Magic& magic) { return magic.format == format && magic.begin.starts_with(text); });
}

}  // namespace cleave
