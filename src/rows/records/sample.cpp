// The generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). A number
// below a limit comes from the upper half of a product (Lemire: Fast Random Integer Generation in an Interval, 2019),
// so every number is equally likely.
//
// A sample of n out of N records, with m the smaller of n and N - n:
//
//   m <= 2^20    draw numbers below N until m of them are distinct. If n is the smaller one, they are the sample;
//                otherwise, the sample is all other numbers.
//   otherwise    for each record in turn: if k of the r records from here on are still needed, take this one if a
//                random number below r is less than k (Knuth: The Art of Computer Programming, volume 2, section
//                3.4.2, algorithm S)
//
// Users rely on getting the same sample again, so nothing here may change the result.
#include "cleave/sample.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr std::uint64_t kMostInMemory = std::uint64_t{1} << 20;

}  // namespace

Sample::Sample(std::uint64_t population, std::uint64_t count, std::uint64_t seed)
    : population_(population), left_(std::min(count, population)), state_(seed) {
    const std::uint64_t others = population_ - left_;
    are_left_out_ = others < left_;
    const std::uint64_t few = std::min(others, left_);
    is_few_ = few <= kMostInMemory;
    if (is_few_) draw_few(static_cast<std::size_t>(few));
}

std::uint64_t Sample::random() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t number = state_;
    number = (number ^ number >> 30U) * 0xBF58476D1CE4E5B9;
    number = (number ^ number >> 27U) * 0x94D049BB133111EB;
    return number ^ number >> 31U;
}

// `limit` must be above 0.
std::uint64_t Sample::random_below(std::uint64_t limit) {
    __extension__ using Wide = unsigned __int128;
    const std::uint64_t uneven = -limit % limit;  // 2^64 modulo the limit: this many products are rejected
    for (;;) {
        const Wide product = static_cast<Wide>(random()) * limit;
        if (static_cast<std::uint64_t>(product) >= uneven) return static_cast<std::uint64_t>(product >> 64U);
    }
}

// Each round draws as many numbers as are missing, so the set consists of the first distinct numbers, however many
// rounds it takes.
void Sample::draw_few(std::size_t count) {
    few_.reserve(count);
    while (few_.size() < count) {
        while (few_.size() < count) few_.push_back(random_below(population_));
        std::ranges::sort(few_);
        const auto repeated = std::ranges::unique(few_);
        few_.erase(repeated.begin(), repeated.end());
    }
}

std::optional<std::uint64_t> Sample::next() {
    if (left_ == 0) return std::nullopt;
    if (is_few_ && !are_left_out_) {
        --left_;
        return few_[first_undecided_++];
    }
    for (;; ++position_) {
        bool is_drawn = true;
        if (!is_few_) {
            is_drawn = random_below(population_ - position_) < left_;
        } else if (first_undecided_ < few_.size() && few_[first_undecided_] == position_) {
            ++first_undecided_;
            is_drawn = false;
        }
        if (!is_drawn) continue;
        --left_;
        return position_++;
    }
}

}  // namespace cleave
