// The flags, filters and sums of tables.h, annotated.
#pragma once

#include "text.h"

// A total of parts is the sum of their totals.
template <>
struct cleave::SplitType<numbers::Total> {
    using Total = numbers::Total;
    using OfSum = SplitType<numbers::Numbers>;

    static Side device(const Total& value) { return OfSum::device(value.sum); }
    static std::uint64_t bytes(const Total& value) { return value.sum.bytes(); }
    static Total to(const Total& value, Side side, DeviceStream& stream) {
        return {OfSum::to(value.sum, side, stream)};
    }
    static std::uint64_t size(const Total& /*value*/) { return 1; }
    static Total split(const Total& value, std::uint64_t /*begin*/, std::uint64_t /*end*/) { return value; }
    static Total merge(std::span<const Total* const> parts, MemoryManager& /*memory*/) {
        double sum = 0;
        for (const Total* part : parts) sum += part->value();
        return {numbers::full(1, sum)};
    }
};

namespace numbers {

inline const auto compared = cleave::annotate<Flags(Numbers, bool, double)>(
    "compare", [](const Numbers& x, bool is_greater, double limit) { return is_greater ? x > limit : x < limit; },
    [](cleave::DeviceStream& stream, const Numbers& x, bool is_greater, double limit) {
        return make_flags(stream, x.size, x.bytes(), [=, x = x.data, size = x.size](std::uint8_t* flags, void* native) {
            device::compare(x, is_greater, limit, flags, size, native);
        });
    },
    cost_of_flags(sizeof(double)));
inline const auto both = cleave::annotate<Flags(Flags, Flags)>(
    "and", [](const Flags& x, const Flags& y) { return x & y; },
    [](cleave::DeviceStream& stream, const Flags& x, const Flags& y) {
        return make_flags(stream, x.size, x.size,
                          [x = x.data, y = y.data, size = x.size](std::uint8_t* flags, void* native) {
                              device::both(x, y, flags, size, native);
                          });
    },
    cost_of_flags(1));
inline const auto filtered = cleave::annotate<Numbers(Numbers, Flags)>(
    "filter", [](const Numbers& x, const Flags& flags) { return filter(x, flags); },
    [](cleave::DeviceStream& stream, const Numbers& x, const Flags& flags) {
        const Column<std::uint32_t> counts = make_on_device<std::uint32_t>(stream, device::counts_size(x.size));
        stream.run({"count", flags.size}, [flags = flags.data, counts = counts.data, size = flags.size](void* native) {
            device::count(flags, counts, size, native);
        });
        std::uint32_t kept = 0;
        stream.copy_out(&kept, counts.data + counts.size - 1, sizeof kept);
        stream.synchronize();
        const Numbers made = make_on_device<double>(stream, kept);
        stream.run({"keep", x.bytes()},
                   [x = x.data, flags = flags.data, counts = counts.data, to = made.data, size = x.size](void* native) {
                       device::keep(x, flags, counts, to, size, native);
                   });
        return made;
    },
    cost_of_loop());
inline const auto replaced = cleave::annotate<Numbers(Numbers, Flags, double)>(
    "replace", [](const Numbers& x, const Flags& flags, double value) { return replace(x, flags, value); },
    [](cleave::DeviceStream& stream, const Numbers& x, const Flags& flags, double value) {
        const Numbers made = make_on_device<double>(stream, x.size);
        stream.run({"replace", x.bytes()}, [=, x = x.data, flags = flags.data, to = made.data, size = x.size](
                                               void* native) { device::replace(x, flags, value, to, size, native); });
        return made;
    },
    cost_of_loop());
inline const auto summed = cleave::annotate<Total(Numbers)>(
    "sum", [](const Numbers& x) { return sum(x); },
    [](cleave::DeviceStream& stream, const Numbers& x) {
        const Numbers sums = make_on_device<double>(stream, device::sums_size(x.size));
        stream.run({"sum", x.bytes()},
                   [x = x.data, sums = sums.data, size = x.size](void* native) { device::sum(x, sums, size, native); });
        return Total{sums.part(0, 1)};
    },
    cost_of_loop());

inline LazyFlags operator>(const LazyNumbers& x, double limit) { return compared(x, true, limit); }
inline LazyFlags operator<(const LazyNumbers& x, double limit) { return compared(x, false, limit); }
inline LazyFlags operator&(const LazyFlags& x, const LazyFlags& y) { return both(x, y); }
inline LazyNumbers filter(const LazyNumbers& x, const LazyFlags& flags) { return filtered(x, flags); }
inline LazyNumbers replace(const LazyNumbers& x, const LazyFlags& flags, double value) {
    return replaced(x, flags, value);
}
inline cleave::Lazy<Total> sum(const LazyNumbers& x) { return summed(x); }

}  // namespace numbers
