#include "inflate/block.h"

#include <algorithm>
#include <array>
#include <cassert>
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
    constexpr std::array<std::uint8_t, LengthCodes::kSymbols> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                                        11, 4,  12, 3, 13, 2, 14, 1, 15};
    constexpr std::size_t kMostLiterals = 286;
    constexpr std::size_t kMostDistances = 30;

    if (!in.has(14)) return Decoded::kNeedsInput;
    const std::size_t literals = in.take(5) + 257;
    const std::size_t distances = in.take(5) + 1;
    const std::size_t length_codes = in.take(4) + 4;
    if (literals > kMostLiterals || distances > kMostDistances) return Decoded::kBad;
    std::array<std::uint8_t, LengthCodes::kSymbols> length_lengths{};
    for (std::size_t i = 0; i < length_codes; ++i) {
        if (!in.has(3)) return Decoded::kNeedsInput;
        length_lengths[kOrder[i]] = static_cast<std::uint8_t>(in.take(3));
    }
    LengthCodes length_table;
    if (!length_table.build(length_lengths)) return Decoded::kBad;

    std::array<std::uint8_t, kMostLiterals + kMostDistances> lengths;
    const std::size_t count = literals + distances;
    for (std::size_t i = 0; i < count;) {
        in.has(LengthCodes::kMaxBits + 7);
        const auto [symbol, bits] = length_table.look_up(in.held());
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
        if (repeats > count - i) return Decoded::kBad;
        std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), repeats, length);
        i += repeats;
    }
    constexpr std::size_t kEndOfBlock = 256;
    if (lengths[kEndOfBlock] == 0) return Decoded::kBad;
    const std::span<const std::uint8_t> all = lengths;
    return codes_.build(all.first(literals), all.subspan(literals, distances)) ? Decoded::kAll : Decoded::kBad;
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

// Returns false if the input is about to end, which needs more care.
//
// A turn takes at most 24 bits of literals before it looks up a length; then 20 bits of the length leave 12 of the 56
// that were filled, which is too few for the 28 bits of a distance.
template <class Unit>
bool BlockDecoder::decode_fast(BitReader& in, Room<Unit>& room, Decoded& result) const noexcept {
    BitReader reader = in;
    Unit* next = room.next;
    const Unit* const end = room.end;
    const Unit* const first = room.first;
    bool is_done = true;
    for (;;) {
        if (next >= end) {
            result = Decoded::kNeedsRoom;
            break;
        }
        if (!reader.can_fill_fast_twice()) {
            is_done = false;
            break;
        }
        reader.fill_fast();
        Code code = codes_.look_up(reader.held());
        const auto take_literals = [&] {
            put(next, code.literal_bytes());
            next += code.literal_count();
            reader.drop(code.bits());
        };
        if (code.literal_count() > 0) {
            take_literals();
            code = codes_.look_up(reader.held());
            if (code.literal_count() > 0) {
                take_literals();
                code = codes_.look_up(reader.held());
                if (code.literal_count() > 0) {
                    take_literals();
                    continue;
                }
            }
        }
        if (code.kind() != Code::Kind::kLength) {
            if (code.kind() == Code::Kind::kTable) {
                code = codes_.singles().look_up_second(code, reader.held());
                if (code.literal_count() > 0) {
                    take_literals();
                    continue;
                }
            }
            if (code.kind() == Code::Kind::kEnd) {
                reader.drop(code.bits());
                result = Decoded::kAll;
                break;
            }
            if (code.kind() != Code::Kind::kLength) {
                result = Decoded::kBad;
                break;
            }
        }
        const std::size_t size = code.value_with_extra(reader.held());
        unsigned taken = code.bits();
        reader.drop(code.bits());
        reader.fill_fast();
        code = codes_.distances().look_up(reader.held());
        if (code.kind() != Code::Kind::kDistance) {
            if (code.kind() == Code::Kind::kTable) code = codes_.distances().look_up_second(code, reader.held());
            if (code.kind() != Code::Kind::kDistance) {
                reader.seek(reader.bit() - taken);
                result = Decoded::kBad;
                break;
            }
        }
        const std::size_t distance = code.value_with_extra(reader.held());
        taken += code.bits();
        reader.drop(code.bits());
        if (distance > static_cast<std::size_t>(next - first)) {
            reader.seek(reader.bit() - taken);
            result = Decoded::kBad;
            break;
        }
        copy_match(next, distance, size);
        next += size;
    }
    in = reader;
    room.next = next;
    return is_done;
}

// One symbol at a time, each only if all its bits are there.
template <class Unit>
Decoded BlockDecoder::decode_slowly(BitReader& in, Room<Unit>& room) const noexcept {
    for (;;) {
        if (room.next >= room.end) return Decoded::kNeedsRoom;
        BitReader reader = in;
        reader.fill();
        Code code = codes_.singles().look_up(reader.held());
        if (code.literal_count() == 0 && code.kind() == Code::Kind::kTable)
            code = codes_.singles().look_up_second(code, reader.held());
        const bool has_code = (code.literal_count() > 0 ? code.bits() : code.code_bits()) <= reader.count();
        if (!has_code) return Decoded::kNeedsInput;
        if (code.literal_count() > 0) {
            *room.next++ = static_cast<Unit>(code.literal_bytes());
            reader.drop(code.bits());
            in = reader;
            continue;
        }
        if (code.kind() == Code::Kind::kInvalid) return Decoded::kBad;
        if (code.bits() > reader.count()) return Decoded::kNeedsInput;
        const std::size_t size = code.value_with_extra(reader.held());
        reader.drop(code.bits());
        if (code.kind() == Code::Kind::kEnd) {
            in = reader;
            return Decoded::kAll;
        }
        reader.fill();
        code = codes_.distances().look_up(reader.held());
        if (code.kind() == Code::Kind::kTable) code = codes_.distances().look_up_second(code, reader.held());
        if (code.code_bits() > reader.count()) return Decoded::kNeedsInput;
        if (code.kind() == Code::Kind::kInvalid) return Decoded::kBad;
        if (code.bits() > reader.count()) return Decoded::kNeedsInput;
        const std::size_t distance = code.value_with_extra(reader.held());
        reader.drop(code.bits());
        if (distance > static_cast<std::size_t>(room.next - room.first)) return Decoded::kBad;
        copy_match(room.next, distance, size);
        room.next += size;
        in = reader;
    }
}

template Decoded BlockDecoder::decode(BitReader&, Room<std::uint8_t>&) noexcept;
template Decoded BlockDecoder::decode(BitReader&, Room<std::uint16_t>&) noexcept;

}  // namespace cleave
