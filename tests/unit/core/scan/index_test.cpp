// Asks RecordIndex and Locator about every record and every byte, and compares the answers with the reference.
#include <gtest/gtest.h>

#include "index_check.h"
#include "kernels_under_test.h"

namespace cleave::test::index_test {

constexpr std::size_t kBlockSizes[] = {1, 2, 3, 5, 63, 64, 65, 128, 4096};
constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

class IndexTest : public testing::TestWithParam<const Kernel*> {};

INSTANTIATE_TEST_SUITE_P(, IndexTest, testing::ValuesIn(available_kernels()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

TEST_P(IndexTest, FindsWhatTheReferenceFinds) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string mark = random.chance(25) ? kByteOrderMark : "";
            const IndexCheck check(mark + random_text(random, dialect, random.below(400)), dialect);
            for (const std::size_t block_size : kBlockSizes) check.expect_index({GetParam(), 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// Noise made of only a few different bytes, so that escapes, quotes and terminators meet at every border.
TEST_P(IndexTest, ReadsDenseNoise) {
    for (std::uint64_t seed = 0; seed < rounds(250); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::string text = random_noise(random, alphabet_of(dialect), random.below(30));
            if (random.chance(20)) text = kByteOrderMark + text;
            const IndexCheck check(text, dialect);
            for (const std::size_t block_size : {1U, 2U, 3U, 7U}) check.expect_index({GetParam(), 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

TEST_P(IndexTest, HasRanksInsideLongBlocks) {
    Random random(5);
    for (const Dialect& dialect : every_dialect_and_rule()) {
        const IndexCheck check(random_csv(random, dialect, 40000, random.chance(30) ? 1 : 0), dialect);
        for (const std::size_t block_size : {4096U, 12345U, 1U << 20}) check.expect_index({GetParam(), 1, block_size});
        if (kSanitized && dialect.terminator != Terminator::kLf) break;
    }
}

// Blocks long enough for a locator to skip most of one, in texts with short records and in texts with one record that
// is longer than what a locator walks before an offset. Some offsets come before the previous one, so the locator is
// asked about what it skipped.
TEST_P(IndexTest, SkipsWithinLongBlocks) {
    constexpr std::size_t kSize = 600'000;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const bool is_rare = dialect.escape || dialect.terminator == Terminator::kCr;
            if (!is_thorough() && (is_rare || (dialect.quoting == Quoting::kAnywhere) == (seed == 0))) continue;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            Random random(seed);
            std::string text = random_csv(random, dialect, kSize, seed == 1 ? 1 : 0);
            if (seed % 2 == 1) text.insert(kSize / 2, 100'000, 'x');
            const Reading reading = read_by_rules(text, dialect);
            const RecordIndex index(bytes_of(text), dialect, {GetParam(), 2, 200'000});
            Locator locator(index);
            for (unsigned i = 0; i < 200; ++i) {
                const std::uint64_t offset = i < 100 ? text.size() / 100 * i : random.below(text.size());
                ASSERT_EQ(locator.at_or_after(offset), reading.at_or_after(offset)) << "byte " << offset;
                ASSERT_EQ(locator.at_or_before(offset), reading.at_or_before(offset)) << "byte " << offset;
                const std::uint64_t record = reading.at_or_after(random.below(text.size())).record;
                if (i % 5 == 0) {
                    ASSERT_EQ(locator.start_of(record), reading.start_of(record)) << record;
                }
                const Grid grid{4096, random.below(4096)};
                const std::uint64_t from = offset > 150'000 ? offset - 150'000 : 0;
                std::optional<Boundary> last;
                for (std::uint64_t at = grid.phase; at <= offset && at < text.size(); at += grid.step) {
                    if (at >= from && reading.at_or_after(at).offset == at) last = reading.at_or_after(at);
                }
                ASSERT_EQ(locator.last_on(grid, from, offset + 1), last) << "byte " << offset;
            }
        }
    }
}

// Blocks long enough that a worker's walk ahead counts past its first part. Most records have two stray quotes, so that
// the quote modes diverge and agree again; in some texts one record has a single stray quote, after which they cut
// differently.
TEST_P(IndexTest, TakesOverWhatWorkersWalkedAhead) {
    constexpr std::string_view kRecords[] = {"monitor 12\" wide,tv 5\" small\n", "\"one, \"\"two\"\"\nthree\",4\n",
                                             "\"a\"b\"c,d\"\n", "a,b,c\n", "x\"\"y,\"\",z\n"};
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        Random random(seed);
        Dialect dialect;
        dialect.quoting = random.chance(50) ? Quoting::kFieldStart : Quoting::kAnywhere;
        const std::size_t odd = random.chance(30) ? SIZE_MAX : random.below(4000);
        const std::size_t kinds = 2 + random.below(4);
        std::string text;
        std::vector<std::size_t> block_sizes = {5000, 8192, 30001};
        for (std::size_t i = 0; text.size() < (kSanitized ? 40'000 : 120'000); ++i) {
            if (i == odd)
                block_sizes.push_back(text.size() + 8);  // ends after the single quote, where the modes have diverged
            text += i == odd ? "only 7\" here,b\n" : kRecords[random.below(kinds)];
        }
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const IndexCheck check(text, dialect);
        for (const std::size_t block_size : block_sizes) {
            for (const unsigned threads : {1U, 3U}) check.expect_index({GetParam(), threads, block_size});
        }
    }
}

// A block cannot see where a run of escapes began if that was many blocks earlier. Blocks begin at odd and even offsets
// in the runs.
TEST_P(IndexTest, ReadsLongRunsOfEscapes) {
    for (const Dialect& dialect : some_dialects()) {
        if (!dialect.escape) continue;
        for (const std::size_t length : {4095U, 9000U, 4094U, 4096U, 4097U, 9001U}) {
            if (!is_thorough() && length != 4095 && (kSanitized || length != 9000)) continue;
            const std::string run(length, '\\');
            for (const std::string head : {"a,b\n", "aa,b\n", "a,\"b\nc", "aa,\"b\nc", "a,\"b\"", "aa,\"b\""}) {
                const IndexCheck check(head + run + "\"\n,x\n\"y\nz\",\"\n", dialect);
                check.expect_index({GetParam(), 1, 128});
                check.expect_index({GetParam(), 1, 129});  // borders at both parities of the run
                check.expect_index({GetParam(), 1, 1000});
                check.expect_index({GetParam(), 1, 4097});
            }
        }
        if (HasFailure()) FAIL() << "see above";
    }
}

class ThreadsTest : public testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(, ThreadsTest, testing::Values(1U, 2U, 3U, 8U), testing::PrintToStringParamName());

TEST_P(ThreadsTest, ChangeNothing) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const IndexCheck check(random_text(random, dialect, random.below(400)), dialect);
            for (const std::size_t block_size : kBlockSizes) {
                check.expect_index({&default_kernel(), GetParam(), block_size});
            }
        }
    }
}

// The quote modes diverge at a quote, or at an escape right after a closing quote.
TEST(RecordIndex, NamesTheByteAtWhichRulesPart) {
    for (const Dialect& dialect : every_dialect_and_rule()) {
        if (!dialect.quote) continue;
        Random random(1);
        for (unsigned i = 0; i < 2000; ++i) {
            const std::string text = random_noise(random, alphabet_of(dialect), random.below(12));
            const auto divergence = RecordIndex(bytes_of(text), dialect, Execution{}).findings().divergence;
            if (!divergence) continue;
            const auto byte = static_cast<std::uint8_t>(text[divergence->offset]);
            ASSERT_TRUE(byte == dialect.quote ||
                        (byte == dialect.escape && dialect.escape_scope == EscapeScope::kEverywhere))
                << "byte " << divergence->offset << " of '" << shown(text) << "', " << describe(dialect);
        }
    }
}

// Where the last record starts if it is incomplete, otherwise the size: a byte after a complete record starts another
// one.
std::uint64_t end_of_complete_records(const std::string& text, const Dialect& dialect) {
    const Reading reading = read_by_rules(text, dialect);
    const bool complete = read_by_rules(text + "x", dialect).starts.size() > reading.starts.size();
    return complete || text.empty() ? text.size() : reading.starts.back();
}

TEST_P(IndexTest, WithoutAnIncompleteLastRecordIsThatOfTheBytesBefore) {
    std::uint64_t cuts = 0;
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            std::string text = random_noise(random, alphabet_of(dialect), random.below(30));
            if (seed % 2 == 0) text = random_text(random, dialect, random.below(400));
            if (random.chance(20)) text = kByteOrderMark + text;
            const std::uint64_t end = end_of_complete_records(text, dialect);
            if (end < text.size()) ++cuts;
            for (const std::size_t block_size : {1U, 2U, 7U, 64U, 100U}) {
                const Execution execution{GetParam(), 1, block_size};
                const RecordIndex index(bytes_of(text), dialect, execution, nullptr, LastRecord::kLeftOut);
                const RecordIndex shorter(bytes_of(text).first(end), dialect, execution);
                ASSERT_EQ(index.findings().size, end) << shown(text) << ", " << describe(dialect);
                ASSERT_TRUE(index.has_same_records(shorter)) << shown(text) << ", " << describe(dialect);
                ASSERT_EQ(Locator(index).at_or_after(end / 2), Locator(shorter).at_or_after(end / 2));
            }
        }
    }
    EXPECT_GT(cuts, 0U);
}

TEST(RecordIndex, OfNothing) {
    const IndexCheck check("", Dialect{});
    for (const unsigned threads : {1U, 4U}) check.expect_index({&default_kernel(), threads, 64});
}

TEST(RecordIndex, OfByteOrderMarks) {
    const std::string mark = kByteOrderMark;
    for (const Dialect& dialect : every_dialect_and_rule()) {
        for (const std::string& text : {mark, mark + mark, mark + "\n", mark + "\"\n\"\n", mark + "\"\n",
                                        mark.substr(0, 2), mark.substr(0, 2) + "\"\n", "\n" + mark + "\"\n"}) {
            const IndexCheck check(text, dialect);
            for (const std::size_t block_size : {1U, 2U, 3U, 4U, 64U}) {
                check.expect_index({&default_kernel(), 2, block_size});
            }
        }
    }
}

TEST(RecordIndex, StopsWhenCancelled) {
    Cancellation cancellation;
    cancellation.request();
    const std::string text(100000, '\n');
    for (const unsigned threads : {1U, 3U}) {
        const Execution execution{nullptr, threads, 4096};
        EXPECT_THROW(RecordIndex(bytes_of(text), Dialect{}, execution, &cancellation), Cancelled);
    }
}

TEST(RecordIndex, IsNotStoppedWithoutReason) {
    const Cancellation cancellation;
    const RecordIndex index(bytes_of("a\nb\n"), Dialect{}, Execution{}, &cancellation);
    EXPECT_EQ(index.findings().records, 2U);
}

}  // namespace cleave::test::index_test
