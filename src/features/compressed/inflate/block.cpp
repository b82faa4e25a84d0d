#include "features/compressed/inflate/block.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cleave {
namespace {

constexpr std::size_t kCopyBytes = 16;

void copy_step(void* to, const void* from) noexcept {
    std::array<std::uint64_t, kCopyBytes / 8> bytes;
    std::memcpy(bytes.data(), from, kCopyBytes);
    std::memcpy(to, bytes.data(), kCopyBytes);
}

// Writes up to three literals.
inline void put(std::uint8_t* to, std::uint32_t literals) noexcept { std::memcpy(to, &literals, sizeof literals); }
inline void put(std::uint16_t* to, std::uint32_t literals) noexcept {
    std::uint64_t units = literals;
    units = (units | units << 16) & 0x0000FFFF0000FFFF;
    units = (units | units << 8) & 0x00FF00FF00FF00FF;
    std::memcpy(to, &units, sizeof units);
}

// Repeats `size` units from `distance` units before `to`, which may overlap. May write beyond them, into the slack.
//
// A step is longer than a short distance, and then copies units that are not written yet: only the first `distance`
// units of the step are right. After these, twice as many units before `to` repeat.
template <class Unit>
inline void copy_match(Unit* to, std::size_t distance, std::size_t size) noexcept {
    constexpr std::size_t kStep = kCopyBytes / sizeof(Unit);
    const Unit* const end = to + size;
    const Unit* from = to - distance;
    while (distance < kStep) {
        copy_step(to, from);
        if (distance >= size) return;
        to += distance;
        size -= distance;
        distance *= 2;
    }
    do {
        copy_step(to, from);
        copy_step(to + kStep, from + kStep);
        to += 2 * kStep;
        from += 2 * kStep;
    } while (to < end);
}

constexpr std::size_t kMostLiterals = 286;
constexpr std::size_t kMostDistances = 30;
using Lengths = std::array<std::uint8_t, kMostLiterals + kMostDistances>;

// Takes a code that is not a literal, with its extra bits.
Decoded take_value(BitReader& in, Code code, std::size_t& value) noexcept {
    if (code.code_bits() > in.count()) return Decoded::kNeedsInput;
    if (code.kind() == Code::Kind::kInvalid) return Decoded::kBad;
    if (code.bits() > in.count()) return Decoded::kNeedsInput;
    value = code.value_with_extra(in.held());
    in.drop(code.bits());
    return Decoded::kAll;
}

Decoded read_length_codes(BitReader& in, std::size_t count, LengthCodes& codes) noexcept {
    constexpr std::array<std::uint8_t, LengthCodes::kSymbols> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, LengthCodes::kSymbols> lengths{};
    for (std::size_t i = 0; i < count; ++i) {
        if (!in.has(3)) return Decoded::kNeedsInput;
        lengths[kOrder[i]] = static_cast<std::uint8_t>(in.take(3));
    }
    return codes.build(lengths) ? Decoded::kAll : Decoded::kBad;
}

Decoded read_lengths(BitReader& in, const LengthCodes& codes, std::span<std::uint8_t> lengths) noexcept {
    for (std::size_t i = 0; i < lengths.size();) {
        in.has(LengthCodes::kMaxBits + 7);
        const auto [symbol, bits] = codes.look_up(in.held());
        if (in.count() < bits) return Decoded::kNeedsInput;
        if (symbol < 16) {
            in.drop(bits);
            lengths[i++] = symbol;
            continue;
        }
        const unsigned extra = symbol == 16 ? 2 : symbol == 17 ? 3 : 7;
        if (in.count() < bits + extra) return Decoded::kNeedsInput;
        in.drop(bits);
        if (symbol == 16 && i == 0) return Decoded::kBad;
        const std::uint8_t length = symbol == 16 ? lengths[i - 1] : 0;
        const std::size_t repeats = in.take(extra) + (symbol == 18 ? 11 : 3);
        if (repeats > lengths.size() - i) return Decoded::kBad;
        std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), repeats, length);
        i += repeats;
    }
    return Decoded::kAll;
}

}  // namespace

// The order in which things are found to be wrong is that of zlib's inflate().
Decoded BlockDecoder::read_head(BitReader& in) noexcept {
    BitReader reader = in;
    if (!reader.has(3)) return Decoded::kNeedsInput;
    const bool is_last = reader.take(1) == 1;
    switch (reader.take(2)) {
        case 0: {
            kind_ = Kind::kStored;
            reader.drop(reader.count() % 8);
            if (!reader.has(32)) return Decoded::kNeedsInput;
            const auto size = static_cast<std::uint32_t>(reader.take(16));
            if ((reader.take(16) ^ 0xFFFF) != size) return Decoded::kBad;
            stored_left_ = size;
            break;
        }
        case 1:
            kind_ = Kind::kFixed;
            codes_.build_fixed();
            break;
        case 2:
            kind_ = Kind::kDynamic;
            if (const Decoded result = read_dynamic(reader); result != Decoded::kAll) return result;
            break;
        default: return Decoded::kBad;
    }
    is_last_ = is_last;
    in = reader;
    return Decoded::kAll;
}

// RFC 1951, section 3.2.7.
Decoded BlockDecoder::read_dynamic(BitReader& in) noexcept {
    constexpr std::size_t kEndOfBlock = 256;
    if (!in.has(14)) return Decoded::kNeedsInput;
    const std::size_t literals = in.take(5) + 257;
    const std::size_t distances = in.take(5) + 1;
    const std::size_t length_codes = in.take(4) + 4;
    if (literals > kMostLiterals || distances > kMostDistances) return Decoded::kBad;
    LengthCodes codes;
    if (const Decoded result = read_length_codes(in, length_codes, codes); result != Decoded::kAll) return result;
    Lengths lengths;
    const auto all = std::span(lengths).first(literals + distances);
    if (const Decoded result = read_lengths(in, codes, all); result != Decoded::kAll) return result;
    if (all[kEndOfBlock] == 0) return Decoded::kBad;
    return codes_.build(all.first(literals), all.subspan(literals)) ? Decoded::kAll : Decoded::kBad;
}

template <class Unit>
Decoded BlockDecoder::decode(BitReader& in, Room<Unit>& room) noexcept {
    if (kind_ == Kind::kStored) return copy_stored(in, room);
    Decoded result = Decoded::kAll;
    if (decode_fast(in, room, result)) return result;
    return decode_slowly(in, room);
}

template <class Unit>
Decoded BlockDecoder::copy_stored(BitReader& in, Room<Unit>& room) noexcept {
    const std::uint64_t at = in.bit() / 8;
    const auto bytes = in.bytes().subspan(static_cast<std::size_t>(at));
    const auto space = static_cast<std::size_t>(std::max<std::ptrdiff_t>(room.end - room.next, 0));
    const std::size_t size = std::min({std::size_t{stored_left_}, bytes.size(), space});
    room.next = std::copy_n(bytes.begin(), size, room.next);
    stored_left_ -= static_cast<std::uint32_t>(size);
    in.seek((at + size) * 8);
    if (stored_left_ == 0) return Decoded::kAll;
    return size == space ? Decoded::kNeedsRoom : Decoded::kNeedsInput;
}

// The state of decode_fast(), which a compiler keeps in registers.
template <class Unit>
struct BlockDecoder::Run {
    BitReader in;
    Unit* next;
    const Unit* const first;

    // Writes the literals that the next bits begin with. These bits stay.
    Lookup look_up(const BlockCodes& codes) noexcept {
        const Lookup found = codes.look_up(in.held());
        put(next, found.literal_bytes());
        next += found.literal_count();
        return found;
    }

    // Copies the match that begins with a length, the last code of `found`. Returns false, and stays before all of
    // them, if it is corrupt.
    bool take_match(Lookup found, const DistanceTable& distances) noexcept {
        const std::size_t size = found.value_with_extra(in.held());
        in.drop(found.bits());
        in.fill_fast();
        Code code = distances.look_up(in.held());
        if (code.kind() == Code::Kind::kTable) code = distances.look_up_second(code.value(), in.held());
        const bool is_distance = code.kind() == Code::Kind::kBase;
        const std::size_t distance = is_distance ? code.value_with_extra(in.held()) : SIZE_MAX;
        if (distance > static_cast<std::size_t>(next - first)) {
            in.seek(in.bit() - found.bits());
            next -= found.literal_count();
            return false;
        }
        in.drop(code.bits());
        copy_match(next, distance, size);
        next += size;
        return true;
    }
};

// Returns false if the input is about to end or is corrupt, which needs more care.
//
// A turn takes at most 22 bits of literals before its last lookup. Then 20 bits of a length leave 14 of the 56 that
// were filled, which is too few for the 28 bits of a distance.
template <class Unit>
bool BlockDecoder::decode_fast(BitReader& in, Room<Unit>& room, Decoded& result) const noexcept {
    Run<Unit> run{in, room.next, room.first};
    const auto stop = [&](Decoded why, bool is_done = true) {
        result = why;
        in = run.in;
        room.next = run.next;
        return is_done;
    };
    for (;;) {
        if (run.next >= room.end) return stop(Decoded::kNeedsRoom);
        if (!run.in.can_fill_fast_twice()) return stop(Decoded::kNeedsInput, false);
        run.in.fill_fast();
        Lookup found = run.look_up(codes_);
        if (found.has_only_literals()) {
            run.in.drop(found.bits());
            found = run.look_up(codes_);
        }
        if (found.has_only_literals()) {
            run.in.drop(found.bits());
            found = run.look_up(codes_);
        }
        if (found.has_only_literals()) {
            run.in.drop(found.bits());
            continue;
        }
        if (found.kind() == Code::Kind::kTable) {
            const Code code = codes_.singles().look_up_second(found.value(), run.in.held());
            if (code.is_literal()) {
                *run.next++ = code.literal();
                run.in.drop(code.bits());
                continue;
            }
            found = Lookup(code);
        }
        if (found.kind() == Code::Kind::kBase) {
            if (!run.take_match(found, codes_.distances())) return stop(Decoded::kBad, false);
        } else if (found.kind() == Code::Kind::kEnd) {
            run.in.drop(found.bits());
            return stop(Decoded::kAll);
        } else {
            return stop(Decoded::kBad);
        }
    }
}

// One symbol at a time, each only if all its bits are there.
template <class Unit>
Decoded BlockDecoder::decode_slowly(BitReader& in, Room<Unit>& room) const noexcept {
    for (;;) {
        if (room.next >= room.end) return Decoded::kNeedsRoom;
        BitReader reader = in;
        reader.fill();
        Code code = codes_.singles().look_up(reader.held());
        if (!code.is_literal() && code.kind() == Code::Kind::kTable)
            code = codes_.singles().look_up_second(code.value(), reader.held());
        if (code.is_literal()) {
            if (code.bits() > reader.count()) return Decoded::kNeedsInput;
            *room.next++ = code.literal();
            reader.drop(code.bits());
        } else {
            std::size_t size = 0;
            if (const Decoded result = take_value(reader, code, size); result != Decoded::kAll) return result;
            if (code.kind() == Code::Kind::kEnd) {
                in = reader;
                return Decoded::kAll;
            }
            if (const Decoded result = copy_match_slowly(reader, room, size); result != Decoded::kAll) return result;
        }
        in = reader;
    }
}

// Takes what is left of a match whose length was read.
template <class Unit>
Decoded BlockDecoder::copy_match_slowly(BitReader& in, Room<Unit>& room, std::size_t size) const noexcept {
    in.fill();
    Code code = codes_.distances().look_up(in.held());
    if (code.kind() == Code::Kind::kTable) code = codes_.distances().look_up_second(code.value(), in.held());
    std::size_t distance = 0;
    if (const Decoded result = take_value(in, code, distance); result != Decoded::kAll) return result;
    if (distance > static_cast<std::size_t>(room.next - room.first)) return Decoded::kBad;
    copy_match(room.next, distance, size);
    room.next += size;
    return Decoded::kAll;
}

template Decoded BlockDecoder::decode(BitReader&, Room<std::uint8_t>&) noexcept;
template Decoded BlockDecoder::decode(BitReader&, Room<std::uint16_t>&) noexcept;

}  // namespace cleave
