#include "features/compressed/inflate/chunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/bits.h"
#include "features/compressed/inflate/member.h"

namespace cleave {
namespace {

// A wrong guess shows within a few blocks; what is wrong after more is damage.
constexpr unsigned kProofBlocks = 3;

enum class Attempt : std::uint8_t { kDone, kWrongGuess, kNothing };

// Decodes from one start.
template <class Unit>
class Run {
public:
    Run(std::span<const std::uint8_t> bytes, std::size_t size, BlockFinder& finder, BlockDecoder& decoder)
        : bytes_(bytes), size_(size), finder_(finder), decoder_(decoder) {}

    Attempt decode(const BlockStart& start, Room<Unit> room, Chunk& chunk) {
        first_ = room.next;
        chunk.start = start;
        chunk.end = start.bit;
        BitReader in(bytes_, start.bit);
        unsigned blocks = 0;
        Decoded result = start.kind == BlockStart::Kind::kMember ? begin_member(in, room) : Decoded::kAll;
        while (result == Decoded::kAll) {
            keep(in, room, true, chunk);
            if (is_at_end(in, chunk)) return blocks > 0 ? Attempt::kDone : Attempt::kNothing;
            result = decode_block(in, room);
            if (result != Decoded::kAll) break;
            ++blocks;
            if (!decoder_.is_last()) {
                pass_place(in, room, true, chunk);
                continue;
            }
            result = end_member(in, room, chunk);
            if (result != Decoded::kAll) break;
            pass_place(in, room, false, chunk);
            keep(in, room, false, chunk);
            if (is_at_member(in)) return Attempt::kDone;
            result = begin_member(in, room);
        }
        if (result == Decoded::kBad && blocks < kProofBlocks) return Attempt::kWrongGuess;
        return chunk.size > 0 || !chunk.members.empty() ? Attempt::kDone : Attempt::kNothing;
    }

private:
    // Everything up to here is right, if the start was.
    void keep(const BitReader& in, const Room<Unit>& room, bool is_in_member, Chunk& chunk) const {
        chunk.end = in.bit();
        chunk.is_in_member = is_in_member;
        chunk.size = static_cast<std::size_t>(room.next - first_);
    }

    void pass_place(const BitReader& in, const Room<Unit>& room, bool is_in_member, Chunk& chunk) const {
        chunk.places.push_back({static_cast<std::size_t>(room.next - first_), in.bit(), is_in_member});
    }

    bool is_behind(const BitReader& in) const { return in.bit() >= std::uint64_t{size_} * 8; }

    // Whether the next chunk would begin at this block.
    bool is_at_end(const BitReader& in, Chunk& chunk) {
        if (!is_behind(in)) return false;
        const auto next = finder_.at(in.bit());
        if (next) chunk.end = next->bit;
        return next.has_value();
    }
    bool is_at_member(const BitReader& in) {
        return is_behind(in) && finder_.find_member(in.bit(), in.bit() + 1) == in.bit();
    }

    Decoded decode_block(BitReader& in, Room<Unit>& room) {
        const Decoded result = decoder_.read_head(in);
        return result == Decoded::kAll ? decoder_.decode(in, room) : result;
    }

    Decoded end_member(BitReader& in, const Room<Unit>& room, Chunk& chunk) const {
        const auto at = static_cast<std::size_t>((in.bit() + 7) / 8);
        if (bytes_.size() - at < kMemberTrailer) return Decoded::kNeedsInput;
        const auto trailer = bytes_.subspan(at, kMemberTrailer);
        chunk.members.push_back({static_cast<std::size_t>(room.next - first_),
                                 static_cast<std::uint32_t>(number_in(trailer.first(4))),
                                 static_cast<std::uint32_t>(number_in(trailer.subspan(4)))});
        in.seek((std::uint64_t{at} + kMemberTrailer) * 8);
        return Decoded::kAll;
    }

    Decoded begin_member(BitReader& in, Room<Unit>& room) const {
        auto rest = bytes_.subspan(static_cast<std::size_t>(in.bit() / 8));
        const Decoded result = MemberHead().read(rest);
        in.seek((bytes_.size() - rest.size()) * std::uint64_t{8});
        room.first = room.next;
        return result;
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t size_;
    BlockFinder& finder_;
    BlockDecoder& decoder_;
    const Unit* first_ = nullptr;
};

// For four symbols, the first of them in the lowest bits: whether they stand for themselves, and then, as bytes.
bool is_bytes(std::uint64_t four) noexcept { return (four & 0xFF00FF00FF00FF00) == 0; }
std::uint64_t pack(std::uint64_t four) noexcept {
    four = (four | four >> 8) & 0x0000FFFF0000FFFF;
    return (four | four >> 16) & 0x00000000FFFFFFFF;
}

}  // namespace

Room<std::uint16_t> ChunkRoom::symbol_room(std::size_t most) {
    if (!symbols_ || most > most_symbols_) {
        symbols_ = std::make_unique_for_overwrite<std::uint16_t[]>(kWindow + most + Room<std::uint16_t>::kSlack);
        most_symbols_ = most;
        std::iota(symbols_.get(), symbols_.get() + kWindow, std::uint16_t{256});
    }
    std::uint16_t* const start = symbols_.get() + kWindow;
    return {start, start + most, symbols_.get()};
}

Room<std::uint8_t> ChunkRoom::byte_room(std::size_t most) {
    if (!bytes_ || most > most_bytes_) {
        bytes_ = std::make_unique_for_overwrite<std::uint8_t[]>(most + Room<std::uint8_t>::kSlack);
        most_bytes_ = most;
    }
    return {bytes_.get(), bytes_.get() + most, bytes_.get()};
}

std::optional<Chunk> decode_chunk(std::span<const std::uint8_t> bytes, std::size_t size, ChunkRoom& room) {
    BlockFinder finder(bytes);
    BlockDecoder decoder;
    const std::uint64_t end = std::uint64_t{size} * 8;
    const std::size_t most = std::min(ChunkRoom::kMost, size * ChunkRoom::kMostTimes);
    std::optional<BlockStart> start = finder.find(0, end);
    while (start) {
        Chunk chunk;
        const Attempt attempt =
            start->kind == BlockStart::Kind::kMember
                ? Run<std::uint8_t>(bytes, size, finder, decoder).decode(*start, room.byte_room(most), chunk)
                : Run<std::uint16_t>(bytes, size, finder, decoder).decode(*start, room.symbol_room(most), chunk);
        if (attempt == Attempt::kDone) return chunk;
        if (attempt == Attempt::kNothing) break;
        start = finder.find(start->bit + 1, end);
    }
    return {};
}

SymbolTable::SymbolTable(std::span<const std::uint8_t> window) noexcept : known_(std::min(window.size(), kWindow)) {
    std::iota(bytes_.begin(), bytes_.begin() + 256, std::uint8_t{0});
    std::fill(bytes_.begin() + 256, bytes_.end() - static_cast<std::ptrdiff_t>(known_), std::uint8_t{0});
    std::copy_n(window.end() - static_cast<std::ptrdiff_t>(known_), known_,
                bytes_.end() - static_cast<std::ptrdiff_t>(known_));
}

bool SymbolTable::resolve(std::span<const std::uint16_t> symbols, std::uint8_t* bytes) const noexcept {
    constexpr std::size_t kStep = 8;
    std::size_t i = 0;
    for (; i + kStep <= symbols.size(); i += kStep) {
        std::array<std::uint64_t, 2> four;
        std::memcpy(four.data(), &symbols[i], sizeof four);
        const std::uint64_t low = is_bytes(four[0] | four[1]) ? pack(four[0]) : look_up(four[0]);
        const std::uint64_t high = is_bytes(four[0] | four[1]) ? pack(four[1]) : look_up(four[1]);
        const std::uint64_t all = low | high << 32;
        std::memcpy(bytes + i, &all, sizeof all);
    }
    for (; i < symbols.size(); ++i) bytes[i] = bytes_[symbols[i]];
    if (known_ == kWindow) return true;
    const std::size_t first_known = bytes_.size() - known_;
    return std::ranges::none_of(symbols, [&](std::uint16_t symbol) { return symbol >= 256 && symbol < first_known; });
}

// Of four symbols, the first of them in the lowest bits.
std::uint64_t SymbolTable::look_up(std::uint64_t four) const noexcept {
    const std::uint64_t first = bytes_[four & 0xFFFF];
    const std::uint64_t second = bytes_[four >> 16 & 0xFFFF];
    const std::uint64_t third = bytes_[four >> 32 & 0xFFFF];
    const std::uint64_t fourth = bytes_[four >> 48];
    return first | second << 8 | third << 16 | fourth << 24;
}

}  // namespace cleave
