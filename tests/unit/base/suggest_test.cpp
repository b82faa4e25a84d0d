// Which name is suggested for an unknown word.
#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cleave {
namespace {

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
    EXPECT_EQ(nearest("p", {"pieces"}), "");             // one letter is no beginning
    EXPECT_EQ(nearest("abd", {"abc"}), "");              // one change would make another word of it
    EXPECT_EQ(nearest("abxy", {"abcd"}), "");            // two of four
    EXPECT_EQ(nearest("abcdxy", {"abcdef"}), "abcdef");  // two of six
    EXPECT_EQ(nearest("abcxyz", {"abcdef"}), "");
}

// Each of the changes counts one.
TEST(NearestName, IsNoneOfTwoThatAreEquallyNear) {
    EXPECT_EQ(nearest("abdc", {"abcd", "abdcx"}), "");  // a swap, a beginning
    EXPECT_EQ(nearest("abdc", {"abcd", "abec"}), "");   // a swap, a replacement
    EXPECT_EQ(nearest("abdc", {"abc", "abxdc"}), "");   // a deletion, an insertion
    EXPECT_EQ(nearest("abdc", {"abcd", "abdc"}), "abdc");
}

}  // namespace
}  // namespace cleave
