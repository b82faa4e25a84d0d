// The texts of tables.h, annotated, and flags that functions of a device make for rows.
#pragma once

#include <vector>

#include "array.h"
#include "tables.h"

template <>
struct cleave::SplitType<numbers::Texts> {
    using Texts = numbers::Texts;
    using OfOffsets = SplitType<numbers::Column<std::uint32_t>>;
    using OfBytes = SplitType<numbers::Column<char>>;

    static Side device(const Texts& value) { return OfOffsets::device(value.offsets); }
    static std::uint64_t bytes(const Texts& value) { return value.offsets.bytes() + value.bytes.bytes(); }
    static bool is_pinned(const Texts& value) { return OfOffsets::is_pinned(value.offsets); }
    static Texts to(const Texts& value, Side side, DeviceStream& stream) {
        return {OfOffsets::to(value.offsets, side, stream), OfBytes::to(value.bytes, side, stream), value.first};
    }

    static std::uint64_t size(const Texts& value) { return value.size(); }
    // On a device the offsets cannot be read here, so a part keeps all bytes.
    static Texts split(const Texts& value, std::uint64_t begin, std::uint64_t end) {
        Texts part{value.offsets.part(begin, end + 1), value.bytes, value.first};
        if (device(value) == Side::kDevice) return part;
        part.first = part.offsets.data[0];
        part.bytes = value.bytes.part(part.first - value.first, part.offsets.data[end - begin] - value.first);
        return part;
    }
    static Texts merge(std::span<const Texts* const> parts, MemoryManager& memory) {
        std::vector<const numbers::Column<char>*> bytes;
        std::uint64_t size = 0;
        for (const Texts* part : parts) {
            bytes.push_back(&part->bytes);
            size += part->size();
        }
        Texts whole{numbers::make_column<std::uint32_t>(size + 1), OfBytes::merge(bytes, memory), 0};
        std::uint32_t* at = whole.offsets.data;
        *at = 0;
        for (const Texts* part : parts) {
            const std::uint32_t moved = *at - part->offsets.data[0];
            for (std::uint64_t i = 1; i < part->offsets.size; ++i) *++at = part->offsets.data[i] + moved;
        }
        return whole;
    }
};

namespace numbers {

using LazyFlags = cleave::Lazy<Flags>;

// Makes one flag for each row, on a device: submit(flags, stream) sets them.
template <class Submit>
Flags make_flags(cleave::DeviceStream& stream, std::uint64_t rows, std::uint64_t bytes, Submit submit) {
    const Flags made = make_on_device<std::uint8_t>(stream, rows);
    stream.run({"flags", bytes}, [submit, flags = made.data](void* native) { submit(flags, native); });
    return made;
}

inline cleave::Cost cost_of_flags(std::uint64_t bytes_of_row) {
    cleave::Cost cost = cost_of_loop();
    cost.result_bytes = [=](std::span<const std::uint64_t> bytes) { return bytes[0] / bytes_of_row; };
    return cost;
}

inline const auto starting = cleave::annotate<Flags(Texts, std::string)>(
    "starts with", [](const Texts& texts, const std::string& prefix) { return starts_with(texts, prefix); },
    [](cleave::DeviceStream& stream, const Texts& texts, const std::string& prefix) {
        const TextsView view{texts.offsets.data, texts.bytes.data, texts.first};
        return make_flags(stream, texts.size(), texts.bytes.bytes(),
                          [=, rows = texts.size(), wanted = Prefix(prefix)](std::uint8_t* flags, void* native) {
                              device::starts_with(view, wanted, flags, rows, native);
                          });
    },
    cost_of_flags(12));
inline LazyFlags starts_with(const cleave::Lazy<Texts>& texts, const std::string& prefix) {
    return starting(texts, prefix);
}

}  // namespace numbers
