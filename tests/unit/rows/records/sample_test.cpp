// Samples: how many records, which ones, and how evenly they are drawn; and the exact numbers, which users rely on.
#include "cleave/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cleave::test::sample_test {

std::vector<std::uint64_t> drawn(std::uint64_t population, std::uint64_t count, std::uint64_t seed) {
    Sample sample(population, count, seed);
    std::vector<std::uint64_t> numbers;
    for (auto number = sample.next(); number; number = sample.next()) numbers.push_back(*number);
    return numbers;
}

TEST(Sample, HasAsManyNumbersAsAskedForInOrder) {
    for (std::uint64_t population = 0; population < 40; ++population) {
        for (std::uint64_t count = 0; count < 45; ++count) {
            const auto numbers = drawn(population, count, count * 7 + population);
            ASSERT_EQ(numbers.size(), std::min(count, population));
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                ASSERT_LT(numbers[i], population);
                ASSERT_TRUE(i == 0 || numbers[i - 1] < numbers[i]);
            }
        }
    }
}

// The numbers must be the same in every version. These come from a separate program, which was written from the comment
// in sample.cpp.
TEST(Sample, HasTheseNumbers) {
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(drawn(100, 5, 1), (Numbers{44, 56, 74, 76, 97}));
    EXPECT_EQ(drawn(10, 7, 42), (Numbers{0, 3, 4, 5, 6, 8, 9}));
    EXPECT_EQ(drawn(UINT64_MAX, 2, 0), (Numbers{7960286522194355699U, 16294208416658607534U}));
    const auto many = drawn(5'000'000, 2'000'000, 3);
    ASSERT_EQ(many.size(), 2'000'000U);
    EXPECT_EQ((Numbers{many[0], many[1], many[1'000'000], many.back()}), (Numbers{0, 3, 2498939, 4999995}));
}

// Each set of 2 out of 5 comes up a tenth of the time, and so does each set of 3 out of 5.
TEST(Sample, EverySetIsEquallyLikely) {
    constexpr unsigned kRounds = 50'000;
    for (const std::uint64_t count : {2U, 3U}) {
        std::vector<unsigned> seen(32);
        for (unsigned seed = 0; seed < kRounds; ++seed) {
            unsigned bits = 0;
            for (const std::uint64_t number : drawn(5, count, seed)) bits |= 1U << number;
            ++seen[bits];
        }
        unsigned sets = 0;
        for (const unsigned times : seen) {
            if (times == 0) continue;
            ++sets;
            EXPECT_NEAR(times, kRounds / 10.0, 5 * std::sqrt(kRounds / 10.0));
        }
        EXPECT_EQ(sets, 10U);
    }
}

// The sample is large enough that each number is decided in turn.
TEST(Sample, ALargeOneIsEven) {
    constexpr std::uint64_t kPopulation = 6'000'000;
    std::vector<unsigned> tenths(10);
    for (const std::uint64_t number : drawn(kPopulation, 3'000'000, 8)) ++tenths[number * 10 / kPopulation];
    for (const unsigned count : tenths) EXPECT_NEAR(count, 300'000, 3000);
}

}  // namespace cleave::test::sample_test
