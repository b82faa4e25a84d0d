// Which name is suggested for an unknown word.
#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cleave::suggest_test {

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
    const std::string* const found = nearest_name(word, names);
    return found == nullptr ? "" : *found;
}

TEST(NearestName, IsOneChangeAway) {
    const std::vector<std::string> names{"--pieces", "--records"};
    for (const char* word : {"piece", "picees", "--PIECES", "poeces", "pieeces", "pi"}) {
        EXPECT_EQ(nearest(word, names), "--pieces") << word;
    }
    EXPECT_EQ(nearest("rec", names), "--records");
}

TEST(NearestName, IsNoneThatIsFarAway) {
    EXPECT_EQ(nearest("p", {"pieces"}), "");             // one letter is too short a prefix
    EXPECT_EQ(nearest("abd", {"abc"}), "");              // too short: one change makes a different word
    EXPECT_EQ(nearest("abxy", {"abcd"}), "");            // two changes in four letters
    EXPECT_EQ(nearest("abcdxy", {"abcdef"}), "abcdef");  // two in six
    EXPECT_EQ(nearest("abcxyz", {"abcdef"}), "");
}

// Every kind of change counts as one.
TEST(NearestName, IsNoneOfTwoThatAreEquallyNear) {
    EXPECT_EQ(nearest("abdc", {"abcd", "abdcx"}), "");  // a swap, a prefix
    EXPECT_EQ(nearest("abdc", {"abcd", "abec"}), "");   // a swap, a replacement
    EXPECT_EQ(nearest("abdc", {"abc", "abxdc"}), "");   // a deletion, an insertion
    EXPECT_EQ(nearest("abdc", {"abcd", "abdc"}), "abdc");
}

}  // namespace cleave::suggest_test
