#include "tables.h"

#include <numeric>
#include <vector>

#include "loops.h"
#include "parallel.h"

namespace numbers {
namespace {

// Makes a column of `size` values; value i is body(i).
template <class T, class Body>
Column<T> make(std::uint64_t size, Body body) {
    Column<T> made = make_column<T>(size);
    for_each_index(size, [&](std::uint64_t i) { made.data[i] = static_cast<T>(body(i)); });
    return made;
}

}  // namespace

Flags operator>(const Numbers& x, double limit) {
    return make<std::uint8_t>(x.size, [x = x.data, limit](std::uint64_t i) { return x[i] > limit; });
}

Flags operator<(const Numbers& x, double limit) {
    return make<std::uint8_t>(x.size, [x = x.data, limit](std::uint64_t i) { return x[i] < limit; });
}

Flags operator&(const Flags& x, const Flags& y) {
    return make<std::uint8_t>(x.size, [x = x.data, y = y.data](std::uint64_t i) { return x[i] & y[i]; });
}

Flags starts_with(const Texts& texts, const std::string& prefix) {
    const TextsView view{texts.offsets.data, texts.bytes.data, texts.first};
    const Prefix wanted(prefix);
    return make<std::uint8_t>(texts.size(), [=](std::uint64_t i) { return has_prefix(view, wanted, i); });
}

// First counts the flags of each chunk, and then copies each chunk's numbers to their place.
Numbers filter(const Numbers& x, const Flags& flags) {
    std::vector<std::uint64_t> ends(x.size / kChunk + 1, 0);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        ends[begin / kChunk] = std::accumulate(flags.data + begin, flags.data + end, std::uint64_t{0});
    });
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    Numbers made = make_column<double>(ends.back());
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        double* to = made.data + (begin == 0 ? 0 : ends[begin / kChunk - 1]);
        for (std::uint64_t i = begin; i < end; ++i) {
            if (flags.data[i] != 0) *to++ = x.data[i];
        }
    });
    return made;
}

Numbers replace(const Numbers& x, const Flags& flags, double value) {
    return make<double>(x.size,
                        [=, x = x.data, flags = flags.data](std::uint64_t i) { return flags[i] != 0 ? value : x[i]; });
}

Total sum(const Numbers& x) {
    std::vector<double> sums(x.size / kChunk + 1, 0);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        sums[begin / kChunk] = std::accumulate(x.data + begin, x.data + end, 0.0);
    });
    return {full(1, std::accumulate(sums.begin(), sums.end(), 0.0))};
}

}  // namespace numbers
