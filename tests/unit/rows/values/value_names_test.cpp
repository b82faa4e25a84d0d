// Names of pieces by value: the names of some values, and what is true of all sets of values. The code that reads the
// names back is independent of the library.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/names.h"
#include "guarded_memory.h"
#include "inputs.h"
#include "rows/values/value_names.h"

namespace cleave::test::value_names_test {

using Key = std::vector<std::string>;

std::vector<std::string> names_of(const std::vector<Key>& keys, std::vector<std::string> columns, bool hive) {
    const auto value = [&](std::size_t key, std::size_t column) -> std::string_view { return keys[key].at(column); };
    return value_names(keys.size(), value, {hive, std::move(columns)});
}

// For one column.
std::vector<std::string> names_of(const std::vector<std::string>& values, bool hive = false) {
    const auto value = [&](std::size_t key, std::size_t) -> std::string_view { return values[key]; };
    return value_names(values.size(), value, {hive, {"c"}});
}

std::string name_of(const std::string& value) { return names_of({value}).front(); }
std::string folder_of(const std::string& value) { return names_of({value}, true).front(); }

std::string name_of_all(const Key& key) { return names_of({key}, std::vector<std::string>(key.size(), "c"), false)[0]; }

std::string times(std::size_t count, const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += text;
    return all;
}

TEST(ValueNames, KeepWhatIsSafeInAName) {
    for (const std::string value : {"a", "Z", "0", "north-west", "a_b", "a~b", "v1.2", "_", "~", "__x__", "Zürich",
                                    "東京", "\U0001F600", "a.b.c", "x-", "%"}) {
        EXPECT_EQ(name_of(value), value == "%" ? "%25" : value);
    }
}

TEST(ValueNames, EscapeEverythingElse) {
    EXPECT_EQ(name_of("a b"), "a%20b");
    EXPECT_EQ(name_of("a/b"), "a%2Fb");
    EXPECT_EQ(name_of("../x"), "%2E.%2Fx");
    EXPECT_EQ(name_of("/etc/passwd"), "%2Fetc%2Fpasswd");
    EXPECT_EQ(name_of("."), "%2E");
    EXPECT_EQ(name_of(".."), "%2E%2E");
    EXPECT_EQ(name_of("..."), "%2E.%2E");
    EXPECT_EQ(name_of(".a"), "%2Ea");
    EXPECT_EQ(name_of("a."), "a%2E") << "FAT drops it";
    EXPECT_EQ(name_of("-rf"), "%2Drf");
    EXPECT_EQ(name_of("a\nb"), "a%0Ab");
    EXPECT_EQ(name_of("\x1b[31m"), "%1B%5B31m");
    EXPECT_EQ(name_of("%2F"), "%252F");
    EXPECT_EQ(name_of("a+b,c=d@e:f"), "a%2Bb%2Cc%3Dd%40e%3Af");
    EXPECT_EQ(name_of(std::string(1, '\0')), "%00");
    EXPECT_EQ(name_of("\x7f"), "%7F");
}

TEST(ValueNames, EscapeBytesThatAreNotText) {
    EXPECT_EQ(name_of("\xff"), "%FF");
    EXPECT_EQ(name_of("a\xc3"), "a%C3") << "cut in two";
    EXPECT_EQ(name_of("\xc0\xaf"), "%C0%AF") << "an overlong slash";
    EXPECT_EQ(name_of("\xed\xa0\x80"), "%ED%A0%80") << "a surrogate";
    EXPECT_EQ(name_of("\xc2\x9b"), "%C2%9B") << "a control character";
    EXPECT_EQ(name_of("\xc2\x80"), "%C2%80");
    EXPECT_EQ(name_of("\xc2\xa0"), "\xc2\xa0") << "the first that is none";
}

TEST(ValueNames, ReadNothingBehindAValue) {
    GuardedMemory memory;
    for (const std::string text : {"a\xc2", "a\xe2\x82", "\xf0\x9f\x98", "a."}) {
        const std::string_view copy = memory.at_back(text);
        const auto value = [&](std::size_t, std::size_t) { return copy; };
        EXPECT_EQ(value_names(1, value, {false, {"c"}}).front(), name_of(text));
    }
}

TEST(ValueNames, HaveAWordForTheEmptyValue) {
    EXPECT_EQ(name_of(""), "__EMPTY__");
    EXPECT_EQ(name_of("__EMPTY__"), "%5F_EMPTY__");
    EXPECT_EQ(name_of("__EMPTY__x"), "__EMPTY__x");
    EXPECT_EQ(name_of("__HIVE_DEFAULT_PARTITION__"), "__HIVE_DEFAULT_PARTITION__");
    EXPECT_EQ(folder_of(""), "c=__HIVE_DEFAULT_PARTITION__");
    EXPECT_EQ(folder_of("__HIVE_DEFAULT_PARTITION__"), "c=%5F_HIVE_DEFAULT_PARTITION__");
    EXPECT_EQ(folder_of("__EMPTY__"), "c=__EMPTY__");
    EXPECT_EQ(names_of({"__empty__", "", "__EMPTY__"}),
              (std::vector<std::string>{"__empty__", "__EMPTY__@2", "%5F_EMPTY__"}));
}

TEST(ValueNames, JoinSeveralValues) {
    EXPECT_EQ(name_of_all({"a", "b"}), "a,b");
    EXPECT_EQ(name_of_all({"a,b", "c"}), "a%2Cb,c");
    EXPECT_EQ(name_of_all({"", ""}), "__EMPTY__,__EMPTY__");
    EXPECT_EQ(name_of_all({"a", "-b.", ".c"}), "a,%2Db%2E,%2Ec");
}

TEST(ValueNames, NumberThoseThatDifferInCaseAlone) {
    EXPECT_EQ(names_of({"a", "A", "b", "aa", "B", "Aa", "AA", "aA"}),
              (std::vector<std::string>{"a", "A@2", "b", "aa", "B@2", "Aa@2", "AA@3", "aA@4"}));
    EXPECT_EQ(names_of({"A@2", "a", "A"}), (std::vector<std::string>{"A%402", "a", "A@2"}));
    EXPECT_EQ(names_of({"É", "é"}), (std::vector<std::string>{"É", "é"})) << "ASCII only";
    EXPECT_EQ(names_of({"@", "`", "[", "{"}), (std::vector<std::string>{"%40", "%60", "%5B", "%7B"}));
}

TEST(ValueNames, AreShortenedWithTheHashOfTheWholeName) {
    const std::string fits(200, 'x');
    EXPECT_EQ(name_of(fits), fits);
    // XXH3-64 with seed 0, from a different program:
    //     python3 -c "import xxhash; print(xxhash.xxh3_64_hexdigest(b'x' * 201))"
    EXPECT_EQ(name_of(fits + 'x'), std::string(183, 'x') + "@32df31caf6566da7");
    EXPECT_EQ(name_of(times(67, " ")), times(61, "%20") + "@84cb80273a5ba4b3");
    EXPECT_EQ(name_of(times(68, " ")), times(61, "%20") + "@78f2dc8fabee803d");
}

TEST(ValueNames, OfTwoLongValuesWithOneHashDiffer) {
    // The same value twice represents two values with the same hash and the same beginning.
    const std::string value(300, 'x');
    const std::vector<std::string> names = names_of({value, "y", value});
    EXPECT_EQ(names[0].size(), 200U);
    EXPECT_EQ(names[2], names[0] + "@2");
}

TEST(ValueNames, AreNeverCutInsideACharacter) {
    for (std::size_t shift = 0; shift < 5; ++shift) {
        const std::string start(shift, 'x');
        for (const std::string unit : {"/", "é", "東", "\U0001F600", "\xff"}) {
            const std::string name = name_of(start + times(200, unit));
            const std::string prefix = name.substr(0, name.find('@'));
            ASSERT_EQ(name.size(), prefix.size() + 17) << name;
            EXPECT_LE(prefix.size(), 183U);
            const std::string one = name_of(unit);
            EXPECT_GT(prefix.size() + one.size(), 183U) << "shorter than it must be";
            EXPECT_EQ(prefix, start + times((prefix.size() - shift) / one.size(), one));
        }
    }
}

TEST(ValueNames, BecomeFolders) {
    EXPECT_EQ(
        names_of({{"a b", "x/y"}, {"A B", "-.%"}}, {"first col", "_second=1"}, true),
        (std::vector<std::string>{"first%20col=a%20b/_second%3D1=x%2Fy", "first%20col=A%20B/_second%3D1=%2D.%25"}));
}

TEST(ValueNames, OfFoldersHaveNeitherHashesNorNumbers) {
    const std::string longest(253, 'x');
    EXPECT_EQ(names_of({longest, "a", "A"}, true), (std::vector<std::string>{"c=" + longest, "c=a", "c=A"}));
    try {
        names_of({"a", "", longest + 'x', longest + "xx"}, true);
        FAIL() << "a folder of 256 bytes";
    } catch (const ValueNameError& error) {
        EXPECT_EQ(error.key(), 2U);
        EXPECT_STREQ(error.what(),
                     "the folder 'c=...' of a value needs a name of 256 bytes, and at most 255 are possible");
    }
    EXPECT_THROW(folder_of(times(85, "/")), ValueNameError) << "escaped bytes count";
}

TEST(ValueNames, RefuseColumnsThatAreMissing) {
    EXPECT_THROW(names_of({{"a"}}, {}, false), std::invalid_argument);
    EXPECT_THROW(names_of({{"a", "b"}}, {"c", ""}, true), std::invalid_argument);
    EXPECT_EQ(names_of({{"a", "b"}}, {"c", ""}, false), (std::vector<std::string>{"a,b"}));
    EXPECT_TRUE(names_of({}, {"c"}, false).empty());
}

// What is true of all names.

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

// The bytes that an escaped text stands for; nothing if it is not an escaped text.
std::optional<std::string> unescaped(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            bytes += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        const std::size_t high = kHexDigits.find(text[i + 1]);
        const std::size_t low = kHexDigits.find(text[i + 2]);
        if (high == std::string::npos || low == std::string::npos) return std::nullopt;
        bytes += static_cast<char>(16 * high + low);
        i += 2;
    }
    return bytes;
}

std::string lower_case(std::string text) {
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    }
    return text;
}

// Whether the text is UTF-8 without control characters, according to a separate decoder.
bool is_printable_text(const std::string& text) {
    std::size_t i = 0;
    while (i < text.size()) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t size = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if (size == 0 || lead >= 0xF8 || i + size > text.size()) return false;
        std::uint32_t code = size == 1 ? lead : lead & (0x7FU >> size);
        for (std::size_t k = 1; k < size; ++k) {
            const auto next = static_cast<unsigned char>(text[i + k]);
            if ((next & 0xC0U) != 0x80) return false;
            code = code << 6U | (next & 0x3FU);
        }
        constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
        if (code < kLeast.at(size) || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
        if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
        i += size;
    }
    return true;
}

void expect_safe(const std::string& name) {
    EXPECT_FALSE(name.empty());
    EXPECT_TRUE(is_printable_text(name)) << name;
    EXPECT_EQ(name.find('/'), std::string::npos) << name;
    EXPECT_NE(name.front(), '.') << name;
    EXPECT_NE(name.front(), '-') << name;
    EXPECT_NE(name.back(), '.') << name;
    EXPECT_EQ(name.find_first_of(" \"'`$&*?!()<>|;\\{}[]#:"), std::string::npos) << name;
}

std::string random_value(std::mt19937& random) {
    static const std::vector<std::string> kParts = {"a",
                                                    "A",
                                                    "b",
                                                    "B",
                                                    "@2",
                                                    "@",
                                                    "%40",
                                                    "%",
                                                    ".",
                                                    "..",
                                                    "-",
                                                    "/",
                                                    ",",
                                                    "",
                                                    "__EMPTY__",
                                                    "__empty__",
                                                    "\n",
                                                    " ",
                                                    "é",
                                                    "É",
                                                    "\xc3",
                                                    "\xa9",
                                                    "\xc2\x85",
                                                    "\xff",
                                                    std::string(1, '\0'),
                                                    "2",
                                                    "~",
                                                    "=",
                                                    "__HIVE_DEFAULT_PARTITION__"};
    std::string value;
    for (std::size_t left = random() % 5; left > 0; --left) value += kParts[random() % kParts.size()];
    if (random() % 20 == 0) value += std::string(170 + random() % 40, "aAb/"[random() % 4]);
    if (random() % 50 == 0) value = std::string(300 + random() % 3, "xX"[random() % 2]) + value;
    return value;
}

std::vector<Key> random_keys(std::mt19937& random, std::size_t columns) {
    std::set<Key> seen;
    std::vector<Key> keys;
    for (std::size_t left = random() % 200; left > 0; --left) {
        Key key;
        for (std::size_t i = 0; i < columns; ++i) key.push_back(random_value(random));
        if (seen.insert(key).second) keys.push_back(std::move(key));
    }
    return keys;
}

TEST(ValueNames, AreSafeAndDifferInEverySet) {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const std::size_t columns = 1 + random() % 3;
        const std::vector<Key> keys = random_keys(random, columns);
        const std::vector<std::string> names = names_of(keys, std::vector<std::string>(columns, "c"), false);
        ASSERT_EQ(names.size(), keys.size());
        std::set<std::string> folded;
        const PieceNamer namer("{stem}.{value}.{i}{ext}", "transactions-2026.csv", 1, std::nullopt, 999'999);
        for (const std::string& name : names) {
            expect_safe(name);
            EXPECT_TRUE(folded.insert(lower_case(name)).second) << "twice, but for case: " << name;
            EXPECT_LE(namer.name({}, {name, 999'999}).size(), 255U);
        }
    }
}

// The values in a folder's name, or in a name without a hash. `empty` is the word for an empty value.
Key key_of(std::string_view name, char separator, std::string_view start, std::string_view empty) {
    Key key;
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find(separator, at), name.size());
        std::string_view part = name.substr(at, end - at);
        EXPECT_TRUE(part.starts_with(start)) << name;
        part.remove_prefix(start.size());
        const std::optional<std::string> bytes = unescaped(part);
        EXPECT_TRUE(bytes) << name;
        key.push_back(part == empty ? "" : bytes.value_or("?"));
        at = end + 1;
    }
    return key;
}

TEST(ValueNames, GiveTheValuesBack) {
    for (unsigned seed = 1; seed <= 400; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const std::size_t columns = 1 + random() % 3;
        std::vector<Key> keys = random_keys(random, columns);
        std::erase_if(keys, [](const Key& key) {
            return std::ranges::any_of(key, [](const std::string& value) { return value.size() > 80; });
        });
        const std::vector<std::string> names = names_of(keys, std::vector<std::string>(columns, "c"), false);
        const std::vector<std::string> folders = names_of(keys, std::vector<std::string>(columns, "c d"), true);
        for (std::size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(key_of(folders[i], '/', "c%20d=", "__HIVE_DEFAULT_PARTITION__"), keys[i]);
            const std::size_t mark = names[i].find('@');
            if (names[i].size() > 183) continue;  // may have a hash
            EXPECT_EQ(key_of(names[i].substr(0, mark), ',', "", "__EMPTY__"), keys[i]) << names[i];
        }
    }
}

TEST(ValueNames, OfEveryShortValueDiffer) {
    // Every value of up to two bytes, and of three from the significant bytes.
    std::vector<std::string> values = {""};
    for (int a = 0; a < 256; ++a) {
        values.emplace_back(1, static_cast<char>(a));
        for (int b = 0; b < 256; ++b) values.push_back({static_cast<char>(a), static_cast<char>(b)});
    }
    const std::string bytes = "aA@%2.-/,_\xc2\x85\xa9";
    for (const char a : bytes) {
        for (const char b : bytes) {
            for (const char c : bytes) values.push_back({a, b, c});
        }
    }
    std::set<std::string> folded;
    for (const std::string& name : names_of(values)) {
        expect_safe(name);
        EXPECT_TRUE(folded.insert(lower_case(name)).second) << name;
    }
    const std::vector<std::string> folders = names_of(values, true);
    EXPECT_EQ(std::set<std::string>(folders.begin(), folders.end()).size(), values.size());
}

TEST(ValueNames, NumberAMillionInLinearTime) {
    // Values that differ only in case, which are the worst for the search.
    constexpr std::size_t kLetters = kSanitized ? 17 : 20;
    constexpr std::size_t kCount = std::size_t{1} << kLetters;
    std::string spelt(kLetters, 'a');
    const auto value = [&](std::size_t key, std::size_t) -> std::string_view {
        for (std::size_t i = 0; i < spelt.size(); ++i) spelt[i] = (key >> i & 1U) != 0 ? 'A' : 'a';
        return spelt;
    };
    const std::vector<std::string> names = value_names(kCount, value, {false, {"c"}});
    EXPECT_EQ(names.front(), std::string(kLetters, 'a'));
    EXPECT_EQ(names[1], "A" + std::string(kLetters - 1, 'a') + "@2");
    EXPECT_EQ(names.back(), std::string(kLetters, 'A') + "@" + std::to_string(kCount));
}

}  // namespace cleave::test::value_names_test
