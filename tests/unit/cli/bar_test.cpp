// What the progress bar shows in the space available.
#include "cli/bar.h"

#include <gtest/gtest.h>

namespace cleave::cli {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

TEST(Bar, SizesArePowersOfAThousandWithThreeDigits) {
    EXPECT_EQ(size_text(0), "0 B");
    EXPECT_EQ(size_text(999), "999 B");
    EXPECT_EQ(size_text(999.6), "1.00 KB");
    EXPECT_EQ(size_text(1234), "1.23 KB");
    EXPECT_EQ(size_text(12'345'678), "12.3 MB");
    EXPECT_EQ(size_text(999'900'000), "1.00 GB");
    EXPECT_EQ(size_text(2.5e12), "2.50 TB");
}

TEST(Bar, TellsHowMuchHowFastAndHowLong) {
    const Stage stage{"writing", kGiga, 4 * kGiga, 3, 2};
    EXPECT_EQ(stage_text(stage, 60), "writing   25%  1.00 GB of 4.00 GB  500 MB/s  0:07 left");
    EXPECT_EQ(stage_text(stage, 64), "writing   25%  1.00 GB of 4.00 GB  500 MB/s  0:07 left  3 pieces");
    EXPECT_EQ(stage_text(stage, 78), "writing  [==>       ]   25%  1.00 GB of 4.00 GB  500 MB/s  0:07 left  3 pieces");
}

TEST(Bar, OfTheFirstOfTwoStagesCountsOnAnother) {
    Stage stage{"reading 1/2", kGiga, 4 * kGiga, {}, 2};
    stage.is_first_of_two = true;
    EXPECT_EQ(stage_text(stage, 60), "reading 1/2   25%  1.00 GB of 4.00 GB  500 MB/s  0:15 left");
    stage.bytes = 4 * kGiga;
    EXPECT_EQ(stage_text(stage, 60), "reading 1/2  100%  4.00 GB of 4.00 GB  2.00 GB/s  0:03 left");
}

TEST(Bar, OfAStreamThereIsNoEndInSight) {
    const Stage stage{"reading", 1500, {}, 1, 10};
    EXPECT_EQ(stage_text(stage, 80), "reading  1.50 KB  150 B/s  1 piece");
}

TEST(Bar, NeverWiderThanItMayBe) {
    const Stage stage{"reading", kGiga / 2, kGiga, 12, 3600 * 30};
    for (std::size_t width = 0; width < 200; ++width) EXPECT_LE(stage_text(stage, width).size(), width) << width;
}

TEST(Bar, WhatIsNothingIsDone) { EXPECT_EQ(stage_text({"reading", 0, 0, {}, 0}, 30), "reading  100%  0 B of 0 B"); }

}  // namespace
}  // namespace cleave::cli
