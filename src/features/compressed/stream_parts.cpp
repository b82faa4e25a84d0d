// BGZF (section 4.1 of the SAM specification, version 1.6): a gzip member (RFC 1952) with an extra field `BC`:
//
//     1F 8B 08 flags ...10 bytes  XLEN  'B' 'C' 02 00 BSIZE   deflate   CRC32 ISIZE
//                                                    |                        |
//     BSIZE: the size of the entire member minus 1   ISIZE: the decoded size, at most 64 KiB
#include "features/compressed/stream_parts.h"

#include <algorithm>
#include <array>
#include <new>

#include "base/little_endian.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The size given by a member's extra field; 0 if there is none.
std::size_t member_size(Bytes extra) {
    constexpr std::size_t kHead = 4;  // two letters and the size of the content
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

}  // namespace

StreamPart find_part(std::span<const std::uint8_t> bytes) noexcept {
    constexpr std::array<std::uint8_t, 3> kMagic = {0x1F, 0x8B, 8};
    constexpr std::uint8_t kHasExtra = 4;  // and no checksum of the header, which libdeflate does not check
    constexpr std::size_t kHeader = 12;    // includes the size of the extra field
    constexpr std::size_t kTrailer = 8;
    constexpr std::uint64_t kMost = std::uint64_t{64} << 10;

    const std::size_t seen = std::min(bytes.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + seen, bytes.begin())) return {};
    if (bytes.size() > kMagic.size() && bytes[3] != kHasExtra) return {};
    if (bytes.size() < kHeader) return {StreamPart::Kind::kCut};
    const auto extra = static_cast<std::size_t>(number_in(bytes.subspan(kHeader - 2, 2)));
    if (bytes.size() < kHeader + extra) return {StreamPart::Kind::kCut};
    const std::size_t size = member_size(bytes.subspan(kHeader, extra));
    if (size < kHeader + extra + kTrailer) return {};
    if (bytes.size() < size) return {StreamPart::Kind::kCut};
    const std::uint64_t room = number_in(bytes.subspan(size - 4, 4));
    if (room > kMost) return {};
    return {StreamPart::Kind::kWhole, size, static_cast<std::size_t>(room)};
}

PartDecoder::PartDecoder() : decompressor_(::libdeflate_alloc_decompressor()) {
    if (!decompressor_) throw std::bad_alloc();
}

bool PartDecoder::decode(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) noexcept {
    std::size_t taken = 0;
    std::size_t made = 0;
    const auto result = ::libdeflate_gzip_decompress_ex(decompressor_.get(), from.data(), from.size(), into.data(),
                                                        into.size(), &taken, &made);
    return result == LIBDEFLATE_SUCCESS && taken == from.size() && made == into.size();
}

}  // namespace cleave
