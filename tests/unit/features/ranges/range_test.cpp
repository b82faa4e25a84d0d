// A plan made from ranges is the plan that a single process makes: for any text, whatever ranges it is cut into
// and however their summaries are grouped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "range_check.h"

namespace cleave::test::range_test {

// Advances to the next string of the same length; returns false after the last.
bool next_text(std::string& text, std::string_view alphabet) {
    for (char& byte : text) {
        const std::size_t next = alphabet.find(byte) + 1;
        byte = alphabet[next % alphabet.size()];
        if (next < alphabet.size()) return true;
    }
    return false;
}

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
        const auto ends = random_ranges(random, text.size(), random.below(1000) == 0 ? 1000 : 6);
        check(text, dialect, ends, random);
        if (testing::Test::HasFatalFailure()) return;
    }
}

// Every range of every short text, and every way to cut a range in two.
struct Domain {
    const char* name;
    std::string_view alphabet;
    Dialect dialect;
};

Dialect dialect_of(Terminator terminator, bool escape, Quoting quoting = Quoting::kFieldStart) {
    Dialect dialect;
    dialect.terminator = terminator;
    if (escape) dialect.escape = '\\';
    dialect.quoting = quoting;
    return dialect;
}

Dialect quoted_by_mark() {
    Dialect dialect;
    dialect.quote = 0xBB;
    return dialect;
}

const Domain kDomains[] = {
    {"lf", "a,\"\n\r", dialect_of(Terminator::kLf, false)},
    {"escape", "a,\"\n\\", dialect_of(Terminator::kLf, true)},
    {"any", "a,\"\n\r", dialect_of(Terminator::kAny, false)},
    {"any_escape_anywhere", "a\"\n\r\\", dialect_of(Terminator::kAny, true, Quoting::kAnywhere)},
    {"mark", "a\"\n\xEF\xBB\xBF", dialect_of(Terminator::kLf, false)},
    {"mark_quotes", "a,\n\xEF\xBB\xBF", quoted_by_mark()},
};

class RangeDomainTest : public testing::TestWithParam<Domain> {};

INSTANTIATE_TEST_SUITE_P(, RangeDomainTest, testing::ValuesIn(kDomains),
                         [](const auto& parameter) { return parameter.param.name; });

TEST_P(RangeDomainTest, EveryRangeOfEveryShortText) {
    const Domain& domain = GetParam();
    const std::size_t longest = is_thorough() ? 5 : kSanitized ? 3 : 4;
    for (std::size_t length = 0; length <= longest; ++length) {
        std::string text(length, domain.alphabet.front());
        for (bool has_more = true; has_more; has_more = next_text(text, domain.alphabet)) {
            check_every_range(text, domain.dialect);
            ASSERT_FALSE(HasFailure()) << shown(text);
        }
    }
}

// Blocks of the usual size, processed by several threads.
TEST(RangeTest, LargeRanges) {
    for (unsigned seed = 0; seed < rounds(24); ++seed) {
        Random random(seed);
        const Dialect dialect = random_dialect(random);
        const std::string text = random_csv(random, dialect, kSanitized ? 1'200'000 : 3'500'000, seed % 3 == 2 ? 1 : 0);
        check_large(text, dialect);
        ASSERT_FALSE(HasFailure()) << seed << ' ' << describe(dialect);
    }
}

// Readers that are wrong about being inside the field continue next to those that are right, and find its doubled
// quotes suspect. Blocks are longer than what a rescan reads to find its first record starts.
TEST(RangeTest, RangesInsideALongField) {
    for (std::size_t seed = 0; seed < 12; seed += stride(5, 11)) {
        Random random(seed);
        const Dialect dialect = dialect_of(seed % 4 == 3 ? Terminator::kAny : Terminator::kLf, false,
                                           seed % 3 == 2 ? Quoting::kAnywhere : Quoting::kFieldStart);
        std::string text = "a,b\n1,\"";
        while (text.size() < (kSanitized ? 300'000U : 600'000U)) {
            text += random_noise(random, "abcdefgh ", random.below(60));
            const std::size_t kind = random.below(20);
            text += kind < 4                     ? " \"\""
                    : kind == 4 && seed % 2 == 1 ? "\r\n"
                    : kind < 6                   ? ",\"\"x"
                    : kind < 9                   ? ","
                                                 : "\n";
        }
        text += "\"\n" + random_csv(random, dialect, 200'000, 0);
        check_large(text, dialect, 10'000 + random.below(90'000));
        ASSERT_FALSE(HasFailure()) << seed << ' ' << describe(dialect);
    }
}

// Summaries of long ranges far into a large input.
TEST(RangeTest, JsonIsShort) {
    std::size_t largest = 0;
    for (unsigned seed = 0; seed < rounds(20'000); ++seed) {
        Random random(seed);
        const Dialect dialect = random_dialect(random);
        const std::size_t size = 400 + random.below(2000);
        largest = std::max(largest, largest_json(random_text(random, dialect, size), dialect));
    }
    EXPECT_LE(largest, 1024U);
    EXPECT_GE(largest, 400U);  // otherwise the numbers were not large
}

TEST(RangeTest, WhatIsWrongWithRanges) { check_refusals(); }

}  // namespace cleave::test::range_test
