// Decodes a chunk from the middle of a gzip stream, without knowing what comes before. Knows nothing about threads.
//
//     compressed   ...| chunk              | bytes of the next chunk ...
//                         ^ a guessed start      ^ the end: the first place after the chunk that could be guessed
//
// What a chunk takes from the 32 KiB before it, its window, is not known yet. It is therefore decoded to symbols of 16
// bits: a value below 256 is a byte, and 256 + i stands for byte i of the window. When the window is known, a table
// turns symbols into bytes. The decoder does nothing special for this: before its output lie 32 Ki symbols that stand
// for the window, and it copies them as it would copy bytes. A chunk that begins with a member needs no window, and is
// decoded to bytes at once.
//
// Whether the guess was right is for the caller to decide: see parallel_gzip.h. A chunk decoded from a wrong guess is
// harmless.
//
// The idea is from rapidgzip and pugz; see find_block.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "features/compressed/inflate/block.h"
#include "features/compressed/inflate/find_block.h"

namespace cleave {

// The end of a member within a chunk.
struct MemberEnd {
    std::size_t at;          // how many bytes of the chunk come before it
    std::uint32_t checksum;  // as its trailer says
    std::uint32_t size;      // likewise, modulo 2^32
};

struct Chunk {
    BlockStart start{};
    std::uint64_t end = 0;     // the next bit
    bool is_in_member = true;  // at the end: between two blocks of a member; otherwise after a trailer
    std::size_t size = 0;      // decoded
    std::vector<MemberEnd> members;
    std::vector<PassedPlace> places;  // after the start
};

// Room for a chunk, which may be used again for another one. Pages that are not written to cost nothing.
class ChunkRoom {
public:
    // A chunk that would be longer, decoded, ends early: bytes, and how many times the compressed ones.
    static constexpr std::size_t kMost = std::size_t{16} << 20;
    static constexpr std::size_t kMostTimes = 64;

    // The symbols of a chunk that does not begin with a member.
    std::span<const std::uint16_t> symbols(const Chunk& chunk) const { return {symbols_.get() + kWindow, chunk.size}; }
    // The bytes of a chunk: decoded, or to be filled with those that the symbols stand for. Throws std::bad_alloc.
    std::span<std::uint8_t> bytes(const Chunk& chunk) { return {byte_room(chunk.size).next, chunk.size}; }

    // Room for that many units. What the other kind of room holds stays. Throw std::bad_alloc.
    Room<std::uint16_t> symbol_room(std::size_t most);
    Room<std::uint8_t> byte_room(std::size_t most);

private:
    std::unique_ptr<std::uint16_t[]> symbols_;
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t most_symbols_ = 0;
    std::size_t most_bytes_ = 0;
};

// Decodes from the first plausible start in the first `size` of the compressed `bytes` to the first plausible start
// behind these, or to the last end of a block before something is wrong or there are no more bytes or room. Returns
// nothing if no start is plausible or no block ends. Throws std::bad_alloc.
std::optional<Chunk> decode_chunk(std::span<const std::uint8_t> bytes, std::size_t size, ChunkRoom& room);

// What symbols stand for.
class SymbolTable {
public:
    // `window` has what comes before the chunk, in the same member: all, or the last 32 KiB.
    explicit SymbolTable(std::span<const std::uint8_t> window) noexcept;

    // Fills `bytes`, which must be as many. Returns false if some symbol lies before the window.
    bool resolve(std::span<const std::uint16_t> symbols, std::uint8_t* bytes) const noexcept;

private:
    std::uint64_t look_up(std::uint64_t four) const noexcept;

    std::array<std::uint8_t, 256 + kWindow> bytes_;
    std::size_t known_;
};

}  // namespace cleave
