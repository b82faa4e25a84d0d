#include "index_check.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/scan/block_summariser.h"
#include "kernels_under_test.h"

namespace cleave::test {
namespace {

Quoting other_rule(const Dialect& dialect) {
    return dialect.quoting == Quoting::kFieldStart ? Quoting::kAnywhere : Quoting::kFieldStart;
}

}  // namespace

IndexCheck::IndexCheck(std::string text, const Dialect& dialect)
    : text_(std::move(text)),
      dialect_(dialect),
      reading_(read_by_rules(text_, dialect)),
      other_(read_by_rules(text_, dialect, other_rule(dialect))),
      difference_(first_difference(text_, dialect)) {}

void IndexCheck::expect_index(const Execution& execution) const {
    SCOPED_TRACE(testing::Message() << describe(dialect_) << ", " << unique_name(execution.kernel) << ", blocks of "
                                    << execution.block_size << ", " << execution.threads << " threads, "
                                    << (text_.size() > 2000 ? "a long text" : shown(text_)));
    const RecordIndex index(bytes_of(text_), dialect_, execution);
    expect_answers(index);
    expect_first_boundaries(index.first_boundaries(), execution.block_size);
    Execution by_kernel = execution;
    by_kernel.summariser = nullptr;
    FirstStarts starts;
    Execution with_starts = execution;
    with_starts.summariser = &starts;
    const RecordIndex again(bytes_of(text_), dialect_, with_starts);
    EXPECT_TRUE(again.has_same_records(RecordIndex(bytes_of(text_), dialect_, by_kernel)));
    expect_first_boundaries(again.first_boundaries(nullptr, &starts), execution.block_size);
}

void IndexCheck::expect_first_boundaries(const std::vector<Boundary>& boundaries, std::uint64_t block_size) const {
    std::uint64_t block = 0;
    for (const Boundary& first : boundaries) {
        ASSERT_EQ(first, reading_.at_or_after(block)) << "block at byte " << block;
        block += block_size;
    }
    EXPECT_GE(block, text_.size());
}

void IndexCheck::expect_answers(const RecordIndex& index) const {
    expect_findings(index.findings());
    EXPECT_EQ(index.end(), reading_.end());
    expect_locations(index);
}

void IndexCheck::expect_findings(const Findings& findings) const {
    EXPECT_EQ(findings.size, text_.size());
    EXPECT_EQ(findings.records, reading_.starts.size());
    EXPECT_EQ(findings.open_quote.has_value(), reading_.open_at_end);
    if (findings.open_quote && reading_.open_at_end) {
        EXPECT_EQ(findings.open_quote->offset, reading_.open_quote()->offset);
        EXPECT_EQ(findings.open_quote->record, reading_.open_quote()->record);
    }
    expect_divergence(findings.divergence);
}

// The position must be in the last record that starts at the same byte in both quote modes, and before the first
// difference.
void IndexCheck::expect_divergence(const std::optional<Place>& divergence) const {
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

// Tries every record, and every byte unless there are too many. Backward and random steps leave the current block.
void IndexCheck::expect_locations(const RecordIndex& index) const {
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

void IndexCheck::expect_on_grid(Locator& locator, Random& random) const {
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

}  // namespace cleave::test
