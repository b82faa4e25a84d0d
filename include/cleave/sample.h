// Draws a random sample of records. The same arguments give the same records, on every machine and in every version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cleave {

// A sample without replacement: every set of `count` numbers below `population` is equally likely. For use by one
// thread at a time.
class Sample {
public:
    // If `count` is larger than the population, the whole population is drawn. Uses at most 8 MiB of memory, and time
    // proportional to the smaller of `count` and `population` - `count` or, if that exceeds 2^20, to the population.
    Sample(std::uint64_t population, std::uint64_t count, std::uint64_t seed);

    // The next number of the sample, in ascending order; nothing after the last one.
    std::optional<std::uint64_t> next();

private:
    std::uint64_t random();
    std::uint64_t random_below(std::uint64_t limit);
    void draw_few(std::size_t count);

    std::uint64_t population_;
    std::uint64_t left_;  // how many numbers remain to be drawn
    std::uint64_t state_;
    std::uint64_t position_ = 0;       // the lowest number not yet decided
    bool is_few_ = false;              // `few_` decides; otherwise each number is decided in turn
    bool are_left_out_ = false;        // `few_` are the numbers that are not in the sample
    std::vector<std::uint64_t> few_;   // ascending
    std::size_t first_undecided_ = 0;  // in few_
};

}  // namespace cleave
