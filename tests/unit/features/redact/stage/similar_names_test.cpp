// Names of columns that are easily mistaken for one another, and those that are not.
#include "features/redact/stage/similar_names.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace cleave::test::similar_names_test {

bool finds(std::string_view named, std::string_view name) {
    SimilarNames names;
    names.add(named, 7);
    return names.find(name).has_value();
}

void expect_similar(std::string_view one, std::string_view other) {
    EXPECT_TRUE(finds(one, other)) << one << ", " << other;
    EXPECT_TRUE(finds(other, one)) << other << ", " << one;
}

void expect_apart(std::string_view one, std::string_view other) {
    EXPECT_FALSE(finds(one, other)) << one << ", " << other;
    EXPECT_FALSE(finds(other, one)) << other << ", " << one;
}

std::string utf8(char32_t character) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes.data());
    return {bytes.begin(), bytes.begin() + size};
}

TEST(SimilarNames, HaveTheSameLetters) {
    expect_similar("email", "email");
    expect_similar("email", "EMail");
    for (const std::string_view name :
         {"e mail", " email", "email\t", "e-mail", "e_mail", "e.mail", "_email_", "E - Mail", "e\nmail", "e\r\nmail"}) {
        expect_similar("email", name);
    }
    expect_similar("addr1", "addr_1");
    expect_similar("İsim", "isim");
    expect_similar("İSİM", "i̇sim");
    expect_apart("Ȧ", "a");
    expect_similar("2nd", "-2nd");
    expect_similar("", " ");
    expect_similar("-", "_");
    expect_apart("email", "emails");
    expect_apart("", "a");
    EXPECT_FALSE(SimilarNames().find("").has_value());
}

TEST(SimilarNames, DifferInSignsThatAreNoSeparators) {
    for (const std::string_view name : {"C#", "C++", "C/", "C'", "(C)", "C*", "C:"}) expect_apart("C", name);
    expect_apart("C#", "C++");
    expect_apart("a,b", "ab");
}

TEST(SimilarNames, KeepSeparatorsBetweenDigits) {
    expect_apart("1.5", "15");
    expect_apart("2024-01", "202401");
    expect_apart("2024-01", "2024_01");
    expect_apart("1 5", "15");
    expect_apart("1 5", "1.5");
    expect_apart("x1.5", "x15");
    expect_apart("1.-5", "1.5");
    expect_similar("2024-01", "2024 - 01");
    expect_similar("1 5", "1  5");
    expect_similar("1 5", "1\xC2\xA0\t5");
    expect_similar("rate 1.5", "Rate_1.5");
    expect_similar("1 5",
                   "1\xC2\x85"
                   "5");
    expect_similar("1.5", "1.5.");
    expect_similar("addr1_zip", "addr1zip");
    expect_similar("zip_1", "zip1");
    expect_apart("\xD9\xA1.\xD9\xA5", "\xD9\xA1\xD9\xA5");  // Arabic digits
    expect_apart(
        "gr\xC3\xB6\xC3\x9F"
        "e1.5",
        "gr\xC3\xB6\xC3\x9F"
        "e15");
}

TEST(SimilarNames, DifferInCaseBeyondAscii) {
    expect_similar("\xC3\xA9", "\xC3\x89");   // é, É
    expect_similar("\xC3\xA9", "e\xCC\x81");  // composed, decomposed
    expect_similar(
        "stra\xC3\x9F"
        "e",
        "STRASSE");                                                          // ß
    expect_similar("\xCF\x83\xCF\x82", "\xCE\xA3\xCE\xA3");                  // Greek sigmas
    expect_similar("\xD0\xB8\xD0\xBC\xD1\x8F", "\xD0\x98\xD0\x9C\xD0\xAF");  // имя, ИМЯ
    // alpha with two marks in both orders; case folding turns one of them into a letter
    expect_similar("\xCE\xB1\xCD\x85\xCC\x81", "\xCE\xB1\xCC\x81\xCD\x85");
    expect_apart("\xC3\xA9", "e");
    expect_apart("\xC3\xA4", "\xC3\xB6");
}

TEST(SimilarNames, DifferInWhatNobodySees) {
    for (const std::string_view name :
         {"mail\xC2\xA0", "\xE2\x80\x8Bmail", "ma\xC2\xADil", "\xEF\xBB\xBFmail", "mail\xE2\x80\x8E",
          "ma\xE2\x80\x8Dil", "mail\xEF\xB8\x8F", "mail\xE3\x85\xA4", "mail\xEF\xBF\xB9", "mail\xE2\x80\xA8",
          "mail\xE2\xA0\x80", "mail\xF3\xA0\x81\x81", "mail\x01", "mail\x7F", "mail\xC2\x85"}) {
        expect_similar("mail", name);
    }
    expect_similar("mail", std::string_view("mail\0", 5));
    expect_apart("mail",
                 "m\xE2\x80\x8B"
                 "ale");
}

TEST(SimilarNames, DifferInTheWidthOrFormOfLetters) {
    expect_similar("Mail2", "\xEF\xBD\x8D\xEF\xBD\x81\xEF\xBD\x89\xEF\xBD\x8C\xEF\xBC\x92");  // full width
    expect_similar("file", "\xEF\xAC\x81le");                                                 // the ligature fi
    expect_similar("x2", "x\xC2\xB2");                                                        // superscript
    expect_similar("e-mail", "e\xEF\xBC\x8Dmail");                                            // full width
    expect_similar("a", "\xF0\x9D\x90\x80");                                                  // mathematical bold A
}

TEST(SimilarNames, HaveTheSameShape) {
    expect_similar("email", "\xD0\xB5mail");  // Cyrillic е
    expect_similar("email", "\xD0\x95MAIL");  // its capital
    expect_similar("base",
                   "\xD0\x92"
                   "ase");  // Cyrillic В
    expect_similar("base",
                   "\xD0\xB2"
                   "ase");  // and its small form
    expect_similar("name",
                   "\xCE\x9D"
                   "ame");  // Greek Ν
    expect_similar("value",
                   "\xCE\xBD"
                   "alue");                  // Greek ν
    expect_similar("\xCE\x9D", "\xCE\xBD");  // and these are one letter
    expect_similar("id",
                   "\xD0\x86"
                   "D");  // Cyrillic І
    expect_similar("id",
                   "\xD3\x80"
                   "d");                            // palochka, which looks like I and like l
    expect_similar("email", "\xD0\xB5rnail");       // rn
    expect_similar("e-mail", "e\xE2\x80\x90mail");  // a hyphen beyond ASCII
    expect_similar("1-5",
                   "1\xE2\x80\x93"
                   "5");  // a dash between digits is a hyphen,
    expect_apart("15",
                 "1\xE2\x80\x93"
                 "5");                                                // and it stays
    expect_similar("customer's name", "customer\xE2\x80\x99s name");  // a word processor's apostrophe
    expect_similar("coeur", "c\xC5\x93ur");
    expect_similar("phone\xE2\x80\x8B", "ph\xD0\xBEne");  // both beyond ASCII
    expect_apart("email", "\xD1\x8Fmail");                // Cyrillic я
    expect_apart("mg", "\xC2\xB5g");
}

TEST(SimilarNames, OfAsciiAreNotComparedByShape) {
    expect_apart("x1", "xl");
    expect_apart("I", "l");
    expect_apart("O", "0");
    expect_apart("modern", "modem");
    expect_similar("x1", "\xD1\x85l");
    expect_similar("x1", "\xD1\x85|");
    expect_similar("x0", "\xD1\x85o");
}

TEST(SimilarNames, AreAnyBytes) {
    expect_similar("\xE9t\xE9", "\xE9T\xE9");  // Latin-1
    expect_apart("\xE9", "\xC9");
    expect_apart("\xE9", "\xC3\xA9");
    expect_apart("\xC3", "");
    expect_similar("\xC3", " \xC3");
    // The bytes of ä, apart from an invisible character.
    expect_apart("\xC3\xE2\x80\x8B\xA4", "\xC3\xA4");
    expect_apart("\xED\xA0\x80", "\xEF\xBF\xBD");
    EXPECT_FALSE(finds("a", "\xF4\x8F\xBF\xBF"));
}

TEST(SimilarNames, AreFoundByTheirColumn) {
    SimilarNames names;
    names.add("Mail", 4);
    names.add("mail", 1);
    names.add("\xD0\xBEne", 9);
    EXPECT_EQ(names.find("m-a-i-l"), 4U);
    EXPECT_EQ(names.find("one"), 9U);
    EXPECT_EQ(names.find("m\xD0\xB0il"), 4U);
}

// The marks of a name are sorted: in quadratic time this would take hours.
TEST(SimilarNames, MayHaveManyMarks) {
    std::string above;
    std::string below;
    for (int i = 0; i < 200'000; ++i) {
        above += "\xCC\x81";
        below += "\xCC\xA3";
    }
    expect_similar("x" + above + below, "X" + below + above);
}

TEST(Confusables, AreInOrder) {
    const auto rows = confusables();
    EXPECT_TRUE(std::ranges::is_sorted(rows, std::ranges::less_equal(), &Confusable::character));
    EXPECT_EQ(twin_of(0x0430), "a");
    EXPECT_EQ(twin_of(rows.front().character), rows.front().twin);
    EXPECT_EQ(twin_of(rows.back().character), rows.back().twin);
    EXPECT_EQ(twin_of('a'), "");
    EXPECT_EQ(twin_of(0x10FFFF), "");
}

// A character that is decomposed before it is looked up would never be found.
TEST(Confusables, AreFoundInNames) {
    for (const Confusable& row : confusables()) {
        const std::string name = utf8(row.character);
        std::array<utf8proc_int32_t, 32> parts{};
        const auto options = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT | UTF8PROC_IGNORE);
        const auto character = static_cast<utf8proc_int32_t>(row.character);
        EXPECT_EQ(utf8proc_decompose_char(character, parts.data(), parts.size(), options, nullptr), 1) << name;
        EXPECT_EQ(parts[0], character) << name;
        const std::string_view twin = row.twin;
        EXPECT_TRUE(twin.size() == 1 || twin.size() == 2) << name;
        for (const char c : twin) EXPECT_TRUE(c >= ' ' && c <= '~' && (c < 'A' || c > 'Z')) << name;
        expect_similar("x" + name + "y", "x" + std::string(twin) + "y");
    }
}

}  // namespace cleave::test::similar_names_test
