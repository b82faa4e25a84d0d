// BGZF (section 4.1 of the SAM specification, version 1.6): a member of gzip (RFC 1952) with an extra field `BC`:
//
//     1F 8B 08 flags ...10 bytes  XLEN  'B' 'C' 02 00 BSIZE   deflate   CRC32 ISIZE
//                                                    |                        |
//     BSIZE: the size of the whole member less 1     ISIZE: the size of what it becomes, at most 64 KiB
//
// A frame of zstd (RFC 8878) may say what it becomes, and does not say where it ends. Its blocks do, so they are
// counted, and each becomes at most 128 KiB:
//
//     28 B5 2F FD  descriptor [window] [dictionary] [content size]   (last, type, size) block ...   [checksum]
//
// A skippable frame is a part that becomes nothing.
#include "io/stream_parts.h"

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <new>

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;
using Kind = StreamPart::Kind;

// A larger frame is decoded in order. The frames of pzstd have 8 MiB up to level 8.
constexpr std::uint64_t kMaxFrame = std::uint64_t{8} << 20;

// Of little-endian bytes.
std::uint64_t number_in(Bytes bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | bytes[i - 1];
    return number;
}

// The size that the extra field of a member gives; 0 if it gives none.
std::size_t member_size(Bytes extra) {
    constexpr std::size_t kHead = 4;  // two letters, and the size of what follows
    while (extra.size() >= kHead) {
        const auto size = static_cast<std::size_t>(number_in(extra.subspan(2, 2)));
        const Bytes content = extra.subspan(kHead);
        if (size > content.size()) return 0;
        if (extra[0] == 'B' && extra[1] == 'C' && size == 2)
            return static_cast<std::size_t>(number_in(content.first(2))) + 1;
        extra = content.subspan(size);
    }
    return 0;
}

StreamPart find_member(Bytes bytes) {
    constexpr std::array<std::uint8_t, 3> kMagic = {0x1F, 0x8B, 8};
    constexpr std::uint8_t kHasExtra = 4;
    constexpr std::size_t kHeader = 12;  // with the size of the extra field
    constexpr std::size_t kTrailer = 8;
    constexpr std::uint64_t kMost = std::uint64_t{64} << 10;

    const std::size_t seen = std::min(bytes.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + seen, bytes.begin())) return {};
    if (bytes.size() > kMagic.size() && (bytes[3] & kHasExtra) == 0) return {};
    if (bytes.size() < kHeader) return {Kind::kCut};
    const auto extra = static_cast<std::size_t>(number_in(bytes.subspan(kHeader - 2, 2)));
    if (bytes.size() < kHeader + extra) return {Kind::kCut};
    const std::size_t size = member_size(bytes.subspan(kHeader, extra));
    if (size < kHeader + extra + kTrailer) return {};
    if (bytes.size() < size) return {Kind::kCut};
    const std::uint64_t room = number_in(bytes.subspan(size - 4, 4));
    if (room > kMost) return {};
    return {Kind::kWhole, size, static_cast<std::size_t>(room)};
}

StreamPart find_skippable(Bytes bytes) {
    constexpr std::size_t kHeader = 8;
    if (bytes.size() < kHeader) return {Kind::kCut};
    const std::uint64_t size = kHeader + number_in(bytes.subspan(4, 4));
    if (size > kMaxFrame) return {};
    return bytes.size() < size ? StreamPart{Kind::kCut} : StreamPart{Kind::kWhole, static_cast<std::size_t>(size), 0};
}

// Counts the blocks, which begin after `header` bytes. `content` is what the frame says that it becomes.
StreamPart find_end(Bytes bytes, std::size_t header, bool has_checksum, std::optional<std::uint64_t> content) {
    constexpr std::size_t kBlockHeader = 3;
    constexpr std::uint64_t kMaxBlock = std::uint64_t{128} << 10;
    enum class Type : std::uint8_t { kRaw, kRepeated, kCompressed, kReserved };

    std::uint64_t room = 0;
    std::uint64_t end = header;
    for (bool is_last = false; !is_last;) {
        if (bytes.size() < end + kBlockHeader) return {Kind::kCut};
        const std::uint64_t block = number_in(bytes.subspan(static_cast<std::size_t>(end), kBlockHeader));
        is_last = (block & 1) != 0;
        const auto type = static_cast<Type>(block >> 1 & 3);
        const std::uint64_t size = block >> 3;
        if (type == Type::kReserved) return {};
        room += type == Type::kCompressed ? kMaxBlock : size;
        end += kBlockHeader + (type == Type::kRepeated ? 1 : size);
        if (end > 2 * kMaxFrame || (!content && room > kMaxFrame)) return {};
    }
    end += has_checksum ? 4 : 0;
    if (bytes.size() < end) return {Kind::kCut};
    return {Kind::kWhole, static_cast<std::size_t>(end), static_cast<std::size_t>(content.value_or(room))};
}

StreamPart find_frame(Bytes bytes) {
    constexpr std::size_t kMagicAndDescriptor = 5;
    constexpr std::array<std::size_t, 4> kDictionarySizes = {0, 1, 2, 4};
    constexpr std::array<std::size_t, 4> kContentSizes = {0, 2, 4, 8};
    constexpr int kLargeWindow = 17;  // 128 MiB and more: the decoder that reads in order judges it

    if (bytes.size() < kMagicAndDescriptor) {
        // Other bytes are judged by the decoder that reads in order, at once.
        return bytes.size() < 4 || compression_of(bytes) == Compression::kZstd ? StreamPart{Kind::kCut} : StreamPart{};
    }
    if (compression_of(bytes) != Compression::kZstd) return {};
    if (bytes[1] == 0x2A) return find_skippable(bytes);
    const std::uint8_t descriptor = bytes[4];
    const bool has_window = (descriptor & 0x20) == 0;
    const std::size_t before = kMagicAndDescriptor + (has_window ? 1 : 0) + kDictionarySizes[descriptor & 3];
    const std::size_t flag = descriptor >> 6;
    const std::size_t size = flag == 0 && !has_window ? 1 : kContentSizes[flag];
    if (bytes.size() < before + size) return {Kind::kCut};
    if (has_window && bytes[kMagicAndDescriptor] >> 3 >= kLargeWindow) return {};
    std::optional<std::uint64_t> content;
    if (size > 0) content = number_in(bytes.subspan(before, size)) + (size == 2 ? 256 : 0);
    if (content && *content > kMaxFrame) return {};
    return find_end(bytes, before + size, (descriptor & 4) != 0, content);
}

class MemberDecoder : public PartDecoder {
public:
    MemberDecoder() {
        constexpr int kGzipWindow = MAX_WBITS + 16;  // as zlib.h says "gzip, and nothing else"
        if (::inflateInit2(&stream_, kGzipWindow) != Z_OK) throw std::bad_alloc();
    }
    MemberDecoder(const MemberDecoder&) = delete;
    MemberDecoder& operator=(const MemberDecoder&) = delete;
    ~MemberDecoder() override { ::inflateEnd(&stream_); }

    std::optional<std::size_t> decode(Bytes from, std::span<std::uint8_t> into) override {
        ::inflateReset(&stream_);
        stream_.next_in = const_cast<std::uint8_t*>(from.data());  // zlib only reads it
        stream_.avail_in = static_cast<uInt>(from.size());
        stream_.next_out = into.data();
        stream_.avail_out = static_cast<uInt>(into.size());
        const int result = ::inflate(&stream_, Z_FINISH);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        if (result != Z_STREAM_END || stream_.avail_in > 0 || stream_.avail_out > 0) return std::nullopt;
        return into.size();
    }

private:
    z_stream stream_{};
};

struct FreeDecompressor {
    void operator()(ZSTD_DCtx* context) const { ::ZSTD_freeDCtx(context); }
};

class FrameDecoder : public PartDecoder {
public:
    FrameDecoder() : context_(::ZSTD_createDCtx()) {
        if (!context_) throw std::bad_alloc();
    }

    std::optional<std::size_t> decode(Bytes from, std::span<std::uint8_t> into) override {
        const std::size_t size =
            ::ZSTD_decompressDCtx(context_.get(), into.data(), into.size(), from.data(), from.size());
        if (::ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
        return ::ZSTD_isError(size) != 0 ? std::nullopt : std::optional(size);
    }

private:
    std::unique_ptr<ZSTD_DCtx, FreeDecompressor> context_;
};

}  // namespace

StreamPart find_part(Compression format, Bytes bytes) noexcept {
    switch (format) {
        case Compression::kGzip: return find_member(bytes);
        case Compression::kZstd: return find_frame(bytes);
        case Compression::kNone: break;
    }
    return {};
}

std::unique_ptr<PartDecoder> make_part_decoder(Compression format) {
    switch (format) {
        case Compression::kGzip: return std::make_unique<MemberDecoder>();
        case Compression::kZstd: return std::make_unique<FrameDecoder>();
        case Compression::kNone: break;
    }
    assert(false);
    return nullptr;
}

}  // namespace cleave
