// RecordIndex and Locator, asked for every record and every byte, against the reference.
#include <gtest/gtest.h>

#include <optional>

#include "cleave/scan.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "reference.h"

namespace cleave::test {
namespace {

constexpr std::size_t kBlockSizes[] = {1, 2, 3, 5, 63, 64, 65, 128, 4096};
constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

// What an index of a text has to say.
class Expected {
public:
    Expected(std::string text, const Dialect& dialect)
        : text_(std::move(text)),
          dialect_(dialect),
          reading_(read_by_rules(text_, dialect)),
          other_(read_by_rules(text_, dialect, other_rule())),
          difference_(first_difference(text_, dialect)) {}

    void expect_index(const Machine& machine) const {
        SCOPED_TRACE(testing::Message() << describe(dialect_) << ", " << unique_name(machine.kernel) << ", blocks of "
                                        << machine.block_size << ", " << machine.threads << " threads, "
                                        << (text_.size() > 2000 ? "a long text" : shown(text_)));
        const RecordIndex index(bytes_of(text_), dialect_, machine);
        expect_findings(index.findings());
        EXPECT_EQ(index.end(), reading_.end());
        expect_locations(index);
    }

private:
    Quoting other_rule() const {
        return dialect_.quoting == Quoting::kFieldStart ? Quoting::kAnywhere : Quoting::kFieldStart;
    }

    void expect_findings(const Findings& findings) const {
        EXPECT_EQ(findings.size, text_.size());
        EXPECT_EQ(findings.records, reading_.starts.size());
        EXPECT_EQ(findings.open_quote.has_value(), reading_.open_at_end);
        if (findings.open_quote && reading_.open_at_end) {
            EXPECT_EQ(findings.open_quote->offset, reading_.open_quote()->offset);
            EXPECT_EQ(findings.open_quote->record, reading_.open_quote()->record);
        }
        expect_divergence(findings.divergence);
    }

    // The place is in the last record that both rules start alike, and stands before the first difference.
    void expect_divergence(const std::optional<Place>& divergence) const {
        ASSERT_EQ(divergence.has_value(), difference_.has_value());
        if (!divergence) return;
        ASSERT_LT(divergence->offset, *difference_);
        const Boundary common = reading_.at_or_before(*difference_ - 1);
        EXPECT_GE(divergence->offset, common.offset);
        EXPECT_EQ(divergence->record, common.record);
        EXPECT_EQ(other_.at_or_before(*difference_ - 1), common);
        if (!dialect_.escape) {
            EXPECT_EQ(static_cast<std::uint8_t>(text_[divergence->offset]), dialect_.quote);
        }
    }

    // Every record, and every byte unless they are too many. The steps down and at random leave the block at hand.
    void expect_locations(const RecordIndex& index) const {
        Locator locator(index);
        const auto expect_around = [&](std::uint64_t offset) {
            ASSERT_EQ(locator.at_or_after(offset), reading_.at_or_after(offset)) << "byte " << offset;
            ASSERT_EQ(locator.at_or_before(offset), reading_.at_or_before(offset)) << "byte " << offset;
        };
        for (std::uint64_t record = 0; record <= reading_.starts.size() + 2; ++record) {
            const Boundary start = reading_.start_of(record);
            ASSERT_EQ(locator.start_of(record), start) << "record " << record;
            ASSERT_NO_FATAL_FAILURE(expect_around(start.offset));
            if (start.offset > 0) {
                ASSERT_NO_FATAL_FAILURE(expect_around(start.offset - 1));
            }
        }
        const std::uint64_t stride = text_.size() > 1000 ? 17 : 1;
        for (std::uint64_t offset = 0; offset <= text_.size() + 2; offset += stride) {
            ASSERT_EQ(locator.at_or_after(offset), reading_.at_or_after(offset)) << "byte " << offset;
        }
        for (std::uint64_t offset = text_.size() + 3; offset >= stride; offset -= stride) {
            ASSERT_EQ(locator.at_or_before(offset - 1), reading_.at_or_before(offset - 1)) << "byte " << offset - 1;
        }
        Random random(text_.size());
        for (unsigned i = 0; i < 20; ++i) {
            ASSERT_NO_FATAL_FAILURE(expect_around(random.below(text_.size() + 1)));
            const std::uint64_t record = random.below(reading_.starts.size() + 1);
            ASSERT_EQ(locator.start_of(record), reading_.start_of(record)) << "record " << record;
            ASSERT_NO_FATAL_FAILURE(expect_on_grid(locator, random));
        }
    }

    void expect_on_grid(Locator& locator, Random& random) const {
        const std::uint64_t step = 1 + random.below(9);
        const Grid grid{step, random.below(step)};
        const std::uint64_t from = random.below(text_.size() + 2);
        const std::uint64_t to = random.below(text_.size() + 5);
        std::vector<std::uint64_t> starts;
        for (const std::uint64_t start : reading_.starts) {
            if (start % step == grid.phase && start >= from && start < to) starts.push_back(start);
        }
        const auto first = locator.first_on(grid, from, to);
        const auto last = locator.last_on(grid, from, to);
        ASSERT_EQ(first.has_value(), !starts.empty());
        ASSERT_EQ(last.has_value(), !starts.empty());
        if (starts.empty()) return;
        EXPECT_EQ(*first, reading_.at_or_after(starts.front()));
        EXPECT_EQ(*last, reading_.at_or_after(starts.back()));
    }

    std::string text_;
    Dialect dialect_;
    Reading reading_;
    Reading other_;
    std::optional<std::uint64_t> difference_;
};

class IndexTest : public testing::TestWithParam<const Kernel*> {};

INSTANTIATE_TEST_SUITE_P(, IndexTest, testing::ValuesIn(available_kernels()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

TEST_P(IndexTest, FindsWhatTheReferenceFinds) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string mark = random.chance(25) ? kByteOrderMark : "";
            const Expected expected(mark + random_text(random, dialect, random.below(400)), dialect);
            for (const std::size_t block_size : kBlockSizes) expected.expect_index({GetParam(), 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// Noise of few bytes: escapes, quotes and terminators meet at every border.
TEST_P(IndexTest, ReadsDenseNoise) {
    for (std::uint64_t seed = 0; seed < rounds(250); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::string text = random_noise(random, alphabet_of(dialect), random.below(30));
            if (random.chance(20)) text = kByteOrderMark + text;
            const Expected expected(text, dialect);
            for (const std::size_t block_size : {1U, 2U, 3U, 7U}) expected.expect_index({GetParam(), 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

TEST_P(IndexTest, HasRanksInsideLongBlocks) {
    Random random(5);
    for (const Dialect& dialect : every_dialect_and_rule()) {
        const Expected expected(random_csv(random, dialect, 40000, random.chance(30) ? 1 : 0), dialect);
        for (const std::size_t block_size : {4096U, 12345U, 1U << 20})
            expected.expect_index({GetParam(), 1, block_size});
        if (kSanitized && dialect.terminator != Terminator::kLf) break;
    }
}

// Blocks long enough that a worker's walk ahead counts beyond its first part. Most records have two stray quotes, so
// that the rules part and agree again; in some texts one has a single one, after which they cut differently.
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
                block_sizes.push_back(text.size() + 8);  // ends after the single one, where the rules are apart
            text += i == odd ? "only 7\" here,b\n" : kRecords[random.below(kinds)];
        }
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        const Expected expected(text, dialect);
        for (const std::size_t block_size : block_sizes) {
            for (const unsigned threads : {1U, 3U}) expected.expect_index({GetParam(), threads, block_size});
        }
    }
}

// A block cannot see where a run of escapes began if that is many blocks back. Blocks begin at odd and at even places
// of the runs.
TEST_P(IndexTest, ReadsLongRunsOfEscapes) {
    for (const Dialect& dialect : every_dialect_and_rule()) {
        if (!dialect.escape) continue;
        for (const std::size_t length : {4094U, 4095U, 4096U, 4097U, 9000U, 9001U}) {
            const std::string run(length, '\\');
            for (const std::string head : {"a,b\n", "aa,b\n", "a,\"b\nc", "aa,\"b\nc", "a,\"b\"", "aa,\"b\""}) {
                const Expected expected(head + run + "\"\n,x\n\"y\nz\",\"\n", dialect);
                expected.expect_index({GetParam(), 1, 128});
                expected.expect_index({GetParam(), 1, 129});  // borders at both parities of the run
                expected.expect_index({GetParam(), 1, 1000});
                expected.expect_index({GetParam(), 1, 4097});
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
            const Expected expected(random_text(random, dialect, random.below(400)), dialect);
            for (const std::size_t block_size : kBlockSizes) {
                expected.expect_index({&default_kernel(), GetParam(), block_size});
            }
        }
    }
}

// The rules part at a quote, or at an escape right after a closing one.
TEST(RecordIndex, NamesTheByteAtWhichRulesPart) {
    for (const Dialect& dialect : every_dialect_and_rule()) {
        if (!dialect.quote) continue;
        Random random(1);
        for (unsigned i = 0; i < 2000; ++i) {
            const std::string text = random_noise(random, alphabet_of(dialect), random.below(12));
            const auto divergence = RecordIndex(bytes_of(text), dialect, Machine{}).findings().divergence;
            if (!divergence) continue;
            const auto byte = static_cast<std::uint8_t>(text[divergence->offset]);
            ASSERT_TRUE(byte == dialect.quote ||
                        (byte == dialect.escape && dialect.escape_scope == EscapeScope::kEverywhere))
                << "byte " << divergence->offset << " of '" << shown(text) << "', " << describe(dialect);
        }
    }
}

TEST(RecordIndex, OfNothing) {
    const Expected expected("", Dialect{});
    for (const unsigned threads : {1U, 4U}) expected.expect_index({&default_kernel(), threads, 64});
}

TEST(RecordIndex, OfByteOrderMarks) {
    const std::string mark = kByteOrderMark;
    for (const Dialect& dialect : every_dialect_and_rule()) {
        for (const std::string& text : {mark, mark + mark, mark + "\n", mark + "\"\n\"\n", mark + "\"\n",
                                        mark.substr(0, 2), mark.substr(0, 2) + "\"\n", "\n" + mark + "\"\n"}) {
            const Expected expected(text, dialect);
            for (const std::size_t block_size : {1U, 2U, 3U, 4U, 64U}) {
                expected.expect_index({&default_kernel(), 2, block_size});
            }
        }
    }
}

TEST(RecordIndex, StopsWhenCancelled) {
    Cancellation cancellation;
    cancellation.request();
    const std::string text(100000, '\n');
    for (const unsigned threads : {1U, 3U}) {
        const Machine machine{nullptr, threads, 4096};
        EXPECT_THROW(RecordIndex(bytes_of(text), Dialect{}, machine, &cancellation), Cancelled);
    }
}

TEST(RecordIndex, IsNotStoppedWithoutReason) {
    const Cancellation cancellation;
    const RecordIndex index(bytes_of("a\nb\n"), Dialect{}, Machine{}, &cancellation);
    EXPECT_EQ(index.findings().records, 2U);
}

}  // namespace
}  // namespace cleave::test
