// If something other than the kernels summarises the blocks, the index is the same.
#include "core/scan/block_summariser.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/dialect/state_machine.h"
#include "core/scan/carry.h"
#include "index_check.h"
#include "inputs.h"

namespace cleave::test::summariser_test {

// Works byte by byte with the state machine, and stands for a device that has its own method.
class ByStateMachine final : public BlockSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override {
        for (std::size_t i = 0; i < out.size(); ++i) out[i].summarised = block(input, first + i);
        calls.emplace_back(first, out.size());
    }

    std::vector<std::pair<std::size_t, std::size_t>> calls;  // the first block, and how many blocks

private:
    static SummarisedBlock block(const BlockedInput& input, std::size_t number) {
        std::vector<std::uint8_t> buffer;
        const std::uint64_t end = input.end_of(number);
        const std::uint64_t begin = std::min(std::max(input.begin_of(number), input.lead.size), end);
        const auto bytes = input.blob.lend(0, end, buffer);
        const StateMachine machine(input.dialect, Quoting::kAnywhere);
        SummarisedBlock block;
        if (begin == 0) block.before = carry_of(State::kRecordStart);
        if (begin > 0) block.before = local_carry(bytes, input.lead.size, begin, input.dialect).value_or(Carry{});
        block.well_known = end == begin || local_carry(bytes, input.lead.size, end, input.dialect).has_value();
        for (const unsigned hypothesis : {0U, 1U}) {
            Carry before = block.before;
            before.inside = static_cast<std::uint8_t>(hypothesis);
            State state = state_of(before, input.dialect.escape_scope);
            for (const std::uint8_t byte : bytes.subspan(begin)) {
                const Transition transition = machine.step(state, byte);
                if (transition.starts_record) ++block.summary.records[hypothesis];
                state = transition.next;
            }
            if (hypothesis == 0) block.summary.flips = is_quoted(state) ? 1 : 0;
            block.summary.suspect[hypothesis] = 1;  // the other quote mode is not examined
        }
        return block;
    }
};

// Summarises nothing, so that all blocks have to be walked.
class KnowsNothing final : public BlockSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override {
        for (BlockReport& report : out) report.summarised.well_known = false;
        if (first > 0) return;
        out[0].summarised.before = carry_of(input.lead.size > 0 ? State::kFieldStart : State::kRecordStart);
    }
};

TEST(BlockSummariser, OthersThanTheKernelGiveTheSameIndex) {
    ByStateMachine by_state_machine;
    KnowsNothing knows_nothing;
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            std::string text = random_text(random, dialect, random.below(400));
            if (random.chance(20)) text = "\xEF\xBB\xBF" + text;
            const IndexCheck check(text, dialect);
            for (const std::size_t block_size : {1U, 3U, 64U, 100U, 1000U}) {
                check.expect_index({&default_kernel(), 1, block_size, nullptr, &by_state_machine});
                check.expect_index({&default_kernel(), 1, block_size, nullptr, &knows_nothing});
            }
            if (testing::Test::HasFailure()) FAIL() << "see above";
        }
    }
}

TEST(BlockSummariser, IsAskedForAllBlocksAndAgainForTheLastOneThatBecameShorter) {
    ByStateMachine summariser;
    const Execution execution{nullptr, 1, 4, nullptr, &summariser};
    const RecordIndex index(bytes_of("a,b\nc,d\ne"), Dialect{}, execution, nullptr, LastRecord::kLeftOut);
    EXPECT_EQ(index.end(), (Boundary{8, 2}));
    EXPECT_EQ(summariser.calls, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 1}}));
    const RecordIndex of_nothing(bytes_of(""), Dialect{}, execution);
    EXPECT_EQ(summariser.calls.size(), 2U);
}

}  // namespace cleave::test::summariser_test
