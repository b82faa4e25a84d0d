// Names of pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "cleave/names.h"

namespace cleave::test {
namespace {

std::string name_of(const std::string& name_template, const std::string& input, std::uint64_t number,
                    std::optional<std::uint64_t> count = 10, std::uint64_t first_index = 1) {
    Piece piece;
    piece.number = number;
    piece.start = 1234;
    piece.first_record = 56;
    return PieceNamer(name_template, input, first_index, count).name(piece);
}

TEST(PieceNamer, KnowsTheNameOfTheInput) {
    EXPECT_EQ(name_of("{stem}.{i}{ext}", "in/orders.csv", 3), "orders.03.csv");
    EXPECT_EQ(name_of("{stem}.{i}{ext}", "orders", 3), "orders.03");
    EXPECT_EQ(name_of("{stem}.{i}{ext}", "a.b/orders", 3), "orders.03");
    EXPECT_EQ(name_of("{stem}|{i}|{ext}", "a.tar.csv", 3), "a.tar|03|.csv");
    EXPECT_EQ(name_of("{stem}|{i}|{ext}", ".hidden", 3), ".hidden|03|");
    EXPECT_EQ(name_of("{stem}|{i}|{ext}", "-", 3), "stdin|03|");
}

TEST(PieceNamer, FillsInNumbers) {
    EXPECT_EQ(name_of("{i}/{n}/{start}/{record}", "x", 3), "03/10/1234/56");
    EXPECT_EQ(name_of("{i:05}/{n:04}/{start:6}/{record:1}", "x", 3), "00003/0010/001234/56");
    EXPECT_EQ(name_of("{{{i}}}", "x", 3), "{03}");
    EXPECT_EQ(name_of("{i}", "x", 1, 10, 0), "0");
    EXPECT_EQ(name_of("{i}", "x", 1, 11, 0), "00");
    EXPECT_EQ(name_of("{i}", "x", 1, 9), "1");
    EXPECT_EQ(name_of("{i}", "x", 1, 2, 99), "099");
    EXPECT_EQ(name_of("{i:2}", "x", 7, 1000), "0007") << "wide enough to sort";
}

TEST(PieceNamer, SortsInPieceOrder) {
    for (const std::uint64_t count : {1U, 9U, 10U, 99U, 100U, 1001U}) {
        for (const std::uint64_t first_index : {0U, 1U, 95U}) {
            std::vector<std::string> names;
            for (std::uint64_t i = 1; i <= count; ++i) names.push_back(name_of("{i}", "x", i, count, first_index));
            EXPECT_TRUE(std::ranges::is_sorted(names)) << count << " from " << first_index;
        }
    }
}

TEST(PieceNamer, OfStreamsHasRoomAndSaysWhenItIsUsedUp) {
    EXPECT_EQ(name_of("{i}", "x", 3, std::nullopt), "000003");
    EXPECT_EQ(name_of("{i}", "x", 999999, std::nullopt), "999999");
    EXPECT_THROW(name_of("{i}", "x", 1000000, std::nullopt), std::overflow_error);
    EXPECT_EQ(name_of("{i:08}", "x", 1000000, std::nullopt), "01000000");
    EXPECT_EQ(name_of("{i:2}", "x", 99, std::nullopt), "99");
    EXPECT_THROW(name_of("{i:2}", "x", 100, std::nullopt), std::overflow_error);
}

TEST(PieceNamer, RefusesBadTemplates) {
    for (const std::string bad :
         {"{i", "i}", "{", "}", "{j}{i}", "{}{i}", "{i:}", "{i:x}", "{i:0}", "{i:21}", "{i:5x}", "{I}"}) {
        EXPECT_THROW(name_of(bad, "x", 1), std::invalid_argument) << bad;
    }
}

TEST(PieceNamer, RefusesIndicesThatStartAgainAtZero) {
    constexpr std::uint64_t kLast = UINT64_MAX;
    EXPECT_THROW(name_of("{i}", "x", 1, 10, kLast - 9), std::invalid_argument);
    EXPECT_THROW(name_of("{i}", "x", 1, kLast, 2), std::invalid_argument);
    EXPECT_THROW(name_of("{i}", "x", 1, std::nullopt, kLast), std::invalid_argument);
    EXPECT_EQ(name_of("{i}", "x", 10, 10, kLast - 10), "18446744073709551614");
}

TEST(PieceNamer, RefusesOneNameForSeveralPieces) {
    EXPECT_THROW(name_of("x", "x", 1), std::invalid_argument);
    EXPECT_THROW(name_of("{stem}{ext}", "x", 1), std::invalid_argument);
    EXPECT_THROW(name_of("{n}", "x", 1), std::invalid_argument);
    EXPECT_THROW(name_of("x", "x", 1, std::nullopt), std::invalid_argument);
    EXPECT_THROW(name_of("{i}.{n}", "x", 1, std::nullopt), std::invalid_argument) << "how many is not known";
    EXPECT_EQ(name_of("x", "y", 1, 1), "x");
    EXPECT_EQ(name_of("{start}", "y", 1), "1234");
    EXPECT_EQ(name_of("{record}", "y", 1), "56");
}

}  // namespace
}  // namespace cleave::test
