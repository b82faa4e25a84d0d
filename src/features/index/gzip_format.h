// What the index of a gzip file has in addition: its bytes, as described in doc/guide/index.md.
//
//   4 each       CRC-32 of every 256 KiB of the decoded text, and of the remainder
//   48 each      checkpoints: decoded offset, compressed bit, decoded bytes of the member, where its window begins
//   among
//                the windows (8 bytes each); size and CRC32C of the window as stored here, CRC-32 of the member so far,
//                1 within a member or else 0 (4 bytes each)
//   ...          windows, one after the other: raw deflate streams
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/index_file.h"

namespace cleave {

constexpr std::size_t kChecksumSize = 4;
constexpr std::size_t kCheckpointSize = 48;

// Of an index as a whole.
constexpr std::size_t kMostHeadSize = 144;
constexpr std::size_t kEndSize = 16;

// How far back deflate may refer.
constexpr std::size_t kMostWindow = std::size_t{32} << 10;

[[noreturn]] void throw_damaged_index();

// Appends all this. `size` is that of the decoded text. Returns where the windows begin. Throws ArgumentError for
// checkpoints that no file can have.
std::size_t append_gzip(std::uint64_t size, const GzipIndex& gzip, std::vector<std::uint8_t>& bytes);

// `bytes` are the checkpoints, and `windows_size` is the size of all windows. Throws IndexError unless a file with
// these sizes can have them. Does not look into windows.
void check_checkpoints(std::span<const std::uint8_t> bytes, std::uint64_t windows_size, std::uint64_t size,
                       std::uint64_t file_size);

// `bytes` begin with checkpoints, which have been checked. `window` is the window of this one, as it is stored. Throws
// IndexError if it is damaged.
GzipCheckpoint load_checkpoint(std::span<const std::uint8_t> bytes, std::size_t number,
                               std::span<const std::uint8_t> window);
// Where this window is among all of them.
BlobRange load_window_range(std::span<const std::uint8_t> bytes, std::size_t number);

// How many bytes of an index are not windows, from its size and its first kMostHeadSize bytes, or all if it is smaller.
// Any number up to that size if it is damaged.
std::uint64_t size_without_windows(std::span<const std::uint8_t> head, std::uint64_t size);

// Packs windows of at most 32 KiB as they are stored. For one thread at a time. A copy packs as well.
class WindowPacker {
public:
    WindowPacker() noexcept;
    WindowPacker(const WindowPacker& other) noexcept;
    WindowPacker& operator=(const WindowPacker&) = delete;
    ~WindowPacker();

    // Throws std::bad_alloc.
    std::vector<std::uint8_t> operator()(std::span<const std::uint8_t> window);

private:
    struct State;
    std::unique_ptr<State> state_;  // once it is needed
};

// Throws IndexError unless it is a window of this size.
std::vector<std::uint8_t> unpack_window(std::span<const std::uint8_t> packed, std::size_t size);

// How large the window is before it is packed.
std::size_t window_size(const GzipCheckpoint& checkpoint) noexcept;

}  // namespace cleave
