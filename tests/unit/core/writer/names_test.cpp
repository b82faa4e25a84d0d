// Names of pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "cleave/names.h"

namespace cleave::test::names_test {

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

TEST(PieceNamer, OfAFolderAreTheInputsAndTheNumber) {
    EXPECT_EQ(name_of("out/", "in/a.csv", 3, 12), "out/a.03.csv");
    EXPECT_EQ(name_of("out/", "-", 3, 4), "out/stdin.3");
    EXPECT_EQ(PieceNamer("out/", "a.csv", 1, 4).folder(), "out/");
}

TEST(PieceNamer, OfStreamsHasRoomAndSaysWhenItIsUsedUp) {
    EXPECT_EQ(name_of("{i}", "x", 3, std::nullopt), "000003");
    EXPECT_EQ(name_of("{i}", "x", 999999, std::nullopt), "999999");
    EXPECT_THROW(name_of("{i}", "x", 1000000, std::nullopt), IndexWidthError);
    EXPECT_EQ(name_of("{i:08}", "x", 1000000, std::nullopt), "01000000");
    EXPECT_EQ(name_of("{i:2}", "x", 99, std::nullopt), "99");
    EXPECT_THROW(name_of("{i:2}", "x", 100, std::nullopt), IndexWidthError);
}

TEST(PieceNamer, KnowsWhatItCouldNameWithAnotherNumberOfPieces) {
    const PieceNamer namer("out/{stem}.{i}{ext}", "in.csv", 1, 3);
    for (const char* yes : {"out/in.1.csv", "out/in.04.csv", "out/in.00000000000000000012.csv"}) {
        EXPECT_TRUE(namer.could_name(yes)) << yes;
    }
    for (const char* no : {"out/in.csv", "out/in..csv", "out/in.a.csv", "out/in.1.csv.gz", "in.1.csv", "", "out/in.1",
                           "out/in.000000000000000000012.csv"}) {
        EXPECT_FALSE(namer.could_name(no)) << no;
    }
    EXPECT_TRUE(PieceNamer("{start}{record}-{n}", "x", 1, 3).could_name("12-7"));
    EXPECT_FALSE(PieceNamer("{start}{record}-{n}", "x", 1, 3).could_name("1-7"));
    EXPECT_FALSE(PieceNamer("{i}.{value}", "x", 1, 3, 3).could_name("1.x"));
    EXPECT_FALSE(PieceNamer("{value}.csv", "x", 1, 3, 1).could_name_by_value("x.csv"));
    const PieceNamer by_value("out/{stem}.{value}{ext}", "a.csv", 1, 3, 1);
    EXPECT_TRUE(by_value.could_name_by_value("out/a.valid.csv"));
    for (const char* no :
         {"out/a.csv", "out/a..csv", "out/a.2024.old.csv", "out/b.x.csv", "a.x.csv", "out/a.b/c.csv"}) {
        EXPECT_FALSE(by_value.could_name_by_value(no)) << no;
    }
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

std::string name_by_value(const std::string& name_template, const PieceValue& value, std::uint64_t most_of_value,
                          std::uint64_t number = 7, std::uint64_t first_index = 1) {
    Piece piece;
    piece.number = number;
    return PieceNamer(name_template, "in/orders.csv", first_index, 20, most_of_value).name(piece, value);
}

TEST(PieceNamer, KnowsTheValueOfAPiece) {
    EXPECT_EQ(name_by_value("{stem}.{value}{ext}", {"north"}, 1), "orders.north.csv");
    EXPECT_EQ(name_by_value("{value}/{value}", {"a=b"}, 1), "a=b/a=b");
    EXPECT_EQ(name_by_value("{{value}}{i}", {"x"}, 1), "{value}07") << "braces, not a field";
}

TEST(PieceNamer, CountsThePiecesOfAValue) {
    EXPECT_EQ(name_by_value("{value}.{i}", {"x", 3}, 9), "x.3");
    EXPECT_EQ(name_by_value("{value}.{i}", {"x", 3}, 10), "x.03") << "as wide as the longest needs";
    EXPECT_EQ(name_by_value("{value}.{i}", {"x", 9}, 9, 7, 2), "x.10");
    EXPECT_EQ(name_by_value("{i}", {"x", 3}, 9), "07") << "without {value} all pieces are counted";
    EXPECT_EQ(name_by_value("{value}.{i}.{n}", {"x", 3}, 9), "x.3.20");
}

TEST(PieceNamer, RefusesPiecesThatAValueHasNot) {
    EXPECT_THROW(name_by_value("{value}.{i}", {"x", 0}, 9), std::invalid_argument);
    EXPECT_THROW(name_by_value("{value}.{i}", {"x", 10}, 9), std::invalid_argument);
    EXPECT_THROW(name_by_value("{value}.{i}", {"", 1}, 9), std::invalid_argument) << "every value has a name";
    EXPECT_THROW(name_by_value("{value}.{i}", {"x", 1}, 9, 21), std::invalid_argument);
    EXPECT_THROW(name_by_value("{value}.{i}", {"x", 1}, 9, 1, UINT64_MAX - 8), std::invalid_argument);
}

TEST(PieceNamer, RefusesValuesWhereThereAreNone) {
    EXPECT_THROW(name_of("{value}.{i}", "x", 1), std::invalid_argument);
    EXPECT_THROW(name_of("{value}.{i}", "x", 1, std::nullopt), std::invalid_argument);
    EXPECT_THROW(name_by_value("{value:3}", {"x"}, 1), std::invalid_argument) << "a value has no width";
}

TEST(PieceNamer, RefusesOneNameForSeveralPiecesOfAValue) {
    EXPECT_THROW(name_by_value("{value}", {"x"}, 2), std::invalid_argument);
    EXPECT_THROW(name_by_value("{stem}", {"x"}, 1), std::invalid_argument);
    EXPECT_EQ(name_by_value("{value}", {"x"}, 1), "x");
}

TEST(PieceNamer, KnowsWhetherTheValueIsAFolder) {
    const auto is_folder = [](const std::string& name_template) {
        return PieceNamer(name_template, "x", 1, 1, 1).has_value_folder();
    };
    for (const std::string yes : {"{value}/{stem}", "out/{value}/{i}", "/{value}/x", "{i}/{value}/x"}) {
        EXPECT_TRUE(is_folder(yes)) << yes;
    }
    for (const std::string no :
         {"{value}", "out/{value}", "out/{value}x/{i}", "out/x{value}/{i}", "{value}{i}/x", "{i}{value}/x", "{i}/x"}) {
        EXPECT_FALSE(is_folder(no)) << no;
    }
    EXPECT_EQ(PieceNamer("out/{value}/x", "x", 1, 1, 1).folder(), "out/");
    EXPECT_EQ(PieceNamer("out{value}/x", "x", 1, 1, 1).folder(), "");
}

}  // namespace cleave::test::names_test
