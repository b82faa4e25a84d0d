// GuessedRuns: the runs cover the range, and where texts are of the usual kinds each begins with a record.
#include "scan/guessed_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "inputs.h"
#include "reference.h"

namespace cleave::test {
namespace {

using namespace std::string_literals;

std::vector<std::uint64_t> begins_of(std::string_view text, const Dialect& dialect, std::size_t size) {
    GuessedRuns runs(bytes_of(text), {0, text.size()}, dialect, size);
    Walker walker(dialect, default_kernel());
    std::vector<std::uint64_t> begins;
    std::uint64_t end = 0;
    bool is_last = false;
    for (std::uint64_t number = 0; runs.next(number);) {
        EXPECT_FALSE(is_last);
        is_last = runs.is_last(number);
        const BlobRange run = runs.find(number, walker);
        EXPECT_EQ(run.offset, end);
        end += run.size;
        begins.push_back(run.offset);
    }
    EXPECT_EQ(end, text.size());
    EXPECT_TRUE(is_last || text.empty());
    return begins;
}

TEST(GuessedRuns, CoverTheRangeWhateverItHolds) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = random_text(random, dialect, random.below(2000));
            for (const std::uint64_t begin : begins_of(text, dialect, 8 + random.below(200))) {
                const bool is_in_pair = begin > 0 && text.substr(begin - 1, 2) == "\r\n";
                // It would look as if a record ended before it and an empty one began.
                EXPECT_FALSE(is_in_pair && dialect.terminator == Terminator::kAny) << begin;
            }
            if (HasFailure()) FAIL() << "seed " << seed;
        }
    }
}

// A wrong guess costs time, so the usual texts must be guessed right, wherever the runs begin.
TEST(GuessedRuns, BeginWithARecordInUsualTexts) {
    const std::pair<const char*, std::string> texts[] = {
        {"plain", "12,John Doe,some text\n"},
        {"CRLF", "12,John Doe,some text\r\n"},
        {"quoted", "\"12\",\"John Doe\",\"some text\"\n"},
        {"quoted where needed", "12,\"Doe, John\",some text\n7,John,\"some, text\"\n"},
        {"line feeds in quotes", "12,\"Doe,\nJohn\n\",\"a\nb\nc\"\n3,,\n"},
        {"empty ones", "\"\",,\"\"\n"},
        {"JSON in quotes", "12,\"{\"\"a\"\": \"\"b\"\", \"\"c\"\": [1, 2], \"\"d\"\": \"\"\"\"}\",x\n"},
        {"a whole speech", "12,\"\"\"No,\"\" he said.\n\"\"No.\"\"\",\"\"\"\"\"\"\n"},
    };
    const Dialect dialect;
    for (const auto& [name, line] : texts) {
        std::string text;
        while (text.size() < 4000) text += line;
        const std::vector<std::uint64_t> starts = read_by_rules(text, dialect).starts;
        for (std::size_t size = 200; size < 300; ++size) {
            for (const std::uint64_t begin : begins_of(text, dialect, size)) {
                const bool is_end = begin == text.size();
                ASSERT_TRUE(is_end || std::ranges::binary_search(starts, begin))
                    << name << ", " << begin << " by " << size;
            }
        }
    }
}

}  // namespace
}  // namespace cleave::test
