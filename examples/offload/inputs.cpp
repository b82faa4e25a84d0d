#include "inputs.h"

#include <cmath>
#include <cstring>
#include <string_view>

#include "parallel.h"

namespace inputs {
namespace {

constexpr std::string_view kStates[] = {"Alabama",    "Alaska",   "Arizona",        "California", "Massachusetts",
                                        "New Jersey", "New York", "North Carolina", "Ohio",       "West Virginia"};

// Number i of a sequence between 0 and 1 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
// 2014).
double random(std::uint64_t i, std::uint64_t kind) {
    std::uint64_t z = (i + (kind << 40)) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

std::string_view state(std::uint64_t i) {
    return kStates[static_cast<std::size_t>(random(i, 1) * static_cast<double>(std::size(kStates)))];
}

}  // namespace

numbers::Numbers uniform(std::uint64_t size, double least, double most, std::uint64_t kind) {
    numbers::Numbers made = numbers::make_column<double>(size);
    numbers::for_each_index(size, [&](std::uint64_t i) { made.data[i] = least + (most - least) * random(i, kind); });
    return made;
}

numbers::Texts states(std::uint64_t size) {
    numbers::Texts made{numbers::make_column<std::uint32_t>(size + 1), {}, 0};
    made.offsets.data[0] = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
        made.offsets.data[i + 1] = made.offsets.data[i] + static_cast<std::uint32_t>(state(i).size());
    }
    made.bytes = numbers::make_column<char>(made.offsets.data[size]);
    numbers::for_each_index(size, [&](std::uint64_t i) {
        std::memcpy(made.bytes.data + made.offsets.data[i], state(i).data(), state(i).size());
    });
    return made;
}

Points points(std::uint64_t size) {
    constexpr std::uint64_t kGroup = 1024;
    constexpr double kSpread = 5;
    const double side = std::sqrt(static_cast<double>(size)) / 2 + 1;
    Points made{numbers::make_column<double>(size), numbers::make_column<double>(size)};
    numbers::for_each_index(size, [&](std::uint64_t i) {
        const bool is_anywhere = i % 10 == 0;
        const std::uint64_t group = i / kGroup;
        const auto place = [&](std::uint64_t kind) {
            if (is_anywhere) return side * random(i, kind);
            return side * random(group, kind + 1) + kSpread * (random(i, kind + 2) + random(i, kind + 3) - 1);
        };
        made.x.data[i] = place(10);
        made.y.data[i] = place(20);
    });
    return made;
}

}  // namespace inputs
