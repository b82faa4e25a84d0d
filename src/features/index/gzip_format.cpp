#include "features/index/gzip_format.h"

#include <libdeflate.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/crc32c.h"
#include "cleave/error.h"
#include "features/index/numbers.h"

namespace cleave {
namespace {

// Text shrinks to a third at this level, which takes a thousandth of the time that the text took to decode.
constexpr int kLevel = 1;

// Offsets of the members of a checkpoint.
constexpr std::size_t kAtOffset = 0;  // eight bytes, like the next three
constexpr std::size_t kAtBit = 8;
constexpr std::size_t kAtMemberSize = 16;
constexpr std::size_t kAtWindow = 24;
constexpr std::size_t kAtPackedSize = 32;  // four bytes, like the next three
constexpr std::size_t kAtPackedCrc = 36;
constexpr std::size_t kAtMemberChecksum = 40;
constexpr std::size_t kAtIsInMember = 44;

struct Stored {
    GzipCheckpoint checkpoint;  // without its window
    std::uint64_t window_at = 0;
    std::uint32_t packed_size = 0, packed_crc = 0, is_in_member = 0;
};

Stored load_stored(std::span<const std::uint8_t> bytes, std::size_t number) {
    bytes = bytes.subspan(number * kCheckpointSize, kCheckpointSize);
    Stored stored;
    stored.is_in_member = load<std::uint32_t>(bytes, kAtIsInMember);
    stored.checkpoint = {load_64(bytes, kAtOffset),
                         load_64(bytes, kAtBit),
                         stored.is_in_member != 0,
                         load_64(bytes, kAtMemberSize),
                         load<std::uint32_t>(bytes, kAtMemberChecksum),
                         {}};
    stored.window_at = load_64(bytes, kAtWindow);
    stored.packed_size = load<std::uint32_t>(bytes, kAtPackedSize);
    stored.packed_crc = load<std::uint32_t>(bytes, kAtPackedCrc);
    return stored;
}

std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
    Crc32c crc;
    crc.add(bytes);
    return crc.value();
}

// Whether the checkpoint can follow the one `before` in a file of these sizes.
bool is_sound(const GzipCheckpoint& here, const GzipCheckpoint& before, std::uint64_t size, std::uint64_t file_size) {
    if (here.offset <= before.offset || here.offset > size) return false;
    if (here.bit <= before.bit || here.bit / 8 > file_size) return false;
    if (here.is_in_member) return here.member_size <= here.offset;
    return here.bit % 8 == 0 && here.member_size == 0 && here.member_checksum == 0;
}

}  // namespace

void throw_damaged_index() { throw IndexError("it is damaged or incomplete"); }

std::size_t window_size(const GzipCheckpoint& checkpoint) noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(checkpoint.member_size, kMostWindow));
}

std::size_t append_gzip(std::uint64_t size, const GzipIndex& gzip, std::vector<std::uint8_t>& bytes) {
    std::size_t at = bytes.size();
    const std::size_t checksums = gzip.checksums.size() * kChecksumSize;
    const std::size_t windows = at + checksums + gzip.checkpoints.size() * kCheckpointSize;
    std::size_t size_of_windows = 0;
    for (const GzipCheckpoint& here : gzip.checkpoints) size_of_windows += here.window.size();
    bytes.reserve(windows + size_of_windows + kEndSize);
    bytes.resize(windows);
    for (const std::uint32_t checksum : gzip.checksums) {
        store(bytes, at, checksum);
        at += kChecksumSize;
    }
    GzipCheckpoint before;
    for (const GzipCheckpoint& here : gzip.checkpoints) {
        if (!is_sound(here, before, size, gzip.file_size) || here.window.empty() != (window_size(here) == 0)) {
            throw ArgumentError("index: no file has these checkpoints");
        }
        store(bytes, at + kAtOffset, here.offset);
        store(bytes, at + kAtBit, here.bit);
        store(bytes, at + kAtMemberSize, here.member_size);
        store(bytes, at + kAtWindow, std::uint64_t{bytes.size() - windows});
        store(bytes, at + kAtPackedSize, static_cast<std::uint32_t>(here.window.size()));
        store(bytes, at + kAtPackedCrc, crc_of(here.window));
        store(bytes, at + kAtMemberChecksum, here.member_checksum);
        store(bytes, at + kAtIsInMember, std::uint32_t{here.is_in_member ? 1U : 0U});
        bytes.insert(bytes.end(), here.window.begin(), here.window.end());
        at += kCheckpointSize;
        before = {here.offset, here.bit, here.is_in_member, here.member_size, here.member_checksum, {}};
    }
    return windows;
}

void check_checkpoints(std::span<const std::uint8_t> bytes, std::uint64_t windows_size, std::uint64_t size,
                       std::uint64_t file_size) {
    std::uint64_t window_at = 0;
    GzipCheckpoint before;
    for (std::size_t i = 0; i < bytes.size() / kCheckpointSize; ++i) {
        Stored stored = load_stored(bytes, i);
        const bool is_known = stored.is_in_member <= 1 && stored.window_at == window_at;
        if (!is_known || !is_sound(stored.checkpoint, before, size, file_size)) throw_damaged_index();
        if ((stored.packed_size == 0) != (window_size(stored.checkpoint) == 0)) throw_damaged_index();
        if (stored.packed_size > windows_size - window_at) throw_damaged_index();
        window_at += stored.packed_size;
        before = std::move(stored.checkpoint);
    }
    if (window_at != windows_size) throw_damaged_index();
}

BlobRange load_window_range(std::span<const std::uint8_t> bytes, std::size_t number) {
    const Stored stored = load_stored(bytes, number);
    return {stored.window_at, stored.packed_size};
}

GzipCheckpoint load_checkpoint(std::span<const std::uint8_t> bytes, std::size_t number,
                               std::span<const std::uint8_t> window) {
    Stored stored = load_stored(bytes, number);
    if (crc_of(window) != stored.packed_crc) throw_damaged_index();
    stored.checkpoint.window.assign(window.begin(), window.end());
    return std::move(stored.checkpoint);
}

struct WindowPacker::State {
    std::unique_ptr<libdeflate_compressor, decltype(&::libdeflate_free_compressor)> compressor{
        ::libdeflate_alloc_compressor(kLevel), ::libdeflate_free_compressor};
    std::vector<std::uint8_t> packed;
};

WindowPacker::WindowPacker() noexcept = default;
WindowPacker::WindowPacker(const WindowPacker& /*other*/) noexcept {}
WindowPacker::~WindowPacker() = default;

std::vector<std::uint8_t> WindowPacker::operator()(std::span<const std::uint8_t> window) {
    if (window.empty()) return {};
    if (!state_) state_ = std::make_unique<State>();
    libdeflate_compressor* const compressor = state_->compressor.get();
    if (compressor == nullptr) throw std::bad_alloc();
    std::vector<std::uint8_t>& packed = state_->packed;
    packed.resize(::libdeflate_deflate_compress_bound(compressor, window.size()));
    const std::size_t size =
        ::libdeflate_deflate_compress(compressor, window.data(), window.size(), packed.data(), packed.size());
    return {packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::vector<std::uint8_t> unpack_window(std::span<const std::uint8_t> packed, std::size_t size) {
    std::vector<std::uint8_t> window(size);
    if (size == 0) return window;
    const std::unique_ptr<libdeflate_decompressor, decltype(&::libdeflate_free_decompressor)> decompressor(
        ::libdeflate_alloc_decompressor(), ::libdeflate_free_decompressor);
    if (!decompressor) throw std::bad_alloc();
    if (::libdeflate_deflate_decompress(decompressor.get(), packed.data(), packed.size(), window.data(), window.size(),
                                        nullptr) != LIBDEFLATE_SUCCESS) {
        throw_damaged_index();
    }
    return window;
}

}  // namespace cleave
