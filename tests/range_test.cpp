// Plans over ranges are the plans of one process: any text, cut into ranges anywhere, composed in any grouping.
#include <gtest/gtest.h>

#include <cstdlib>

#include "range_check.h"

namespace cleave::test {
namespace {

std::string name_of(const std::string& text, const Dialect& dialect, const std::vector<std::uint64_t>& ends) {
    std::string name = describe(dialect) + ": " + shown(text) + " cut at";
    for (const std::uint64_t end : ends) name += " " + std::to_string(end);
    return name;
}

void check(const std::string& text, const Dialect& dialect, const std::vector<std::uint64_t>& ends, Random& random) {
    check_ranges(text, dialect, ends, random);
    ASSERT_FALSE(testing::Test::HasFailure()) << name_of(text, dialect, ends);
}

// CLEAVE_RANGE_CASES is set by `./dev prove ranges`.
unsigned case_count() {
    const char* wanted = std::getenv("CLEAVE_RANGE_CASES");  // NOLINT(concurrency-mt-unsafe): one thread
    return wanted == nullptr ? rounds(4000) : static_cast<unsigned>(std::stoul(wanted));
}

TEST(RangeTest, RandomTextsInRandomRanges) {
    for (unsigned seed = 0; seed < case_count(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Random random(seed);
        const Dialect dialect = random_dialect(random);
        const std::string text = random_ranged_text(random, dialect, random.chance(10) ? 3000 : 120);
        const auto ends = random_ranges(random, text.size(), random.chance(3) ? 1000 : 6);
        check(text, dialect, ends, random);
        if (testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace cleave::test
