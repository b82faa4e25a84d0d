#include "features/compressed/inflate/judge.h"

#include <algorithm>
#include <limits>
#include <new>

namespace cleave {

Judge::Judge(std::span<const std::uint8_t> window, const BitRange& head) {
    constexpr int kRaw = -MAX_WBITS;  // zlib.h: no head and no trailer
    if (::inflateInit2(&stream_, kRaw) != Z_OK) throw std::bad_alloc();
    if (!window.empty() && ::inflateSetDictionary(&stream_, window.data(), static_cast<uInt>(window.size())) != Z_OK) {
        ::inflateEnd(&stream_);
        throw std::bad_alloc();
    }
    for (std::uint64_t bit = head.first; bit < head.end;) {
        const std::uint8_t byte = head.bytes[static_cast<std::size_t>(bit / 8)];
        const auto count = static_cast<unsigned>(std::min(8 - bit % 8, head.end - bit));
        if (count == 8) {
            pass(head.bytes.subspan(static_cast<std::size_t>(bit / 8), 1));
        } else {
            pass_bits(count, byte >> bit % 8 & ((1U << count) - 1));
        }
        bit += count;
    }
    pass({});
}

void Judge::pass_bits(unsigned count, unsigned bits) {
    if (count > 0) ::inflatePrime(&stream_, static_cast<int>(count), static_cast<int>(bits));
}

// Lets zlib read bytes that decode to nothing.
void Judge::pass(std::span<const std::uint8_t> bytes) {
    std::uint8_t nothing = 0;
    std::size_t size = 0;
    decode(bytes, {&nothing, 1}, size);
    held_ = 0;
}

Decoded Judge::decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into, std::size_t& size) {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto offered = from.subspan(held_).first(std::min(from.size() - held_, kMost));
    into = into.first(std::min(into.size(), kMost));
    std::uint8_t none = 0;
    stream_.next_in = offered.empty() ? &none : const_cast<std::uint8_t*>(offered.data());  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(offered.size());
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(into.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    size = into.size() - stream_.avail_out;
    const std::size_t taken = held_ + offered.size() - stream_.avail_in;
    constexpr unsigned kHeldBits = 63;  // zlib.h: the other bits of data_type say where inflate() stopped
    held_ = (static_cast<unsigned>(stream_.data_type) & kHeldBits) / 8;
    from = from.subspan(taken - held_);
    if (result == Z_STREAM_END) return Decoded::kAll;
    if (result != Z_OK && result != Z_BUF_ERROR) return Decoded::kBad;
    return stream_.avail_out == 0 ? Decoded::kNeedsRoom : Decoded::kNeedsInput;
}

}  // namespace cleave
