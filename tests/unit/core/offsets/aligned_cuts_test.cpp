// Cuts that allow blocks to be shared: the records to which the cuts move.
#include <gtest/gtest.h>

#include <algorithm>

#include "cleave/kernel.h"
#include "plan_check.h"

namespace cleave::test::aligned_cuts_test {

// A text in which a window of 1 % contains some records and some multiples of a small alignment.
std::string text_for_alignment(Random& random, const Dialect& dialect) {
    const std::size_t size = 2000 + random.below(8000);
    if (random.chance(30)) return random_text(random, dialect, size);
    const std::size_t header = random.below(40);
    std::string text = std::string(header, 'h') + "\n";
    while (text.size() < size) text += std::string(random.below(random.chance(2) ? 900 : 12), 'r') + "\n";
    return text;
}

void expect_aligned_plan(const std::string& text, const Dialect& dialect, const Policy& policy) {
    const PlanCheck check(text, dialect, policy);
    if (!check.has_plan()) {
        check.expect_refusal();
        return;
    }
    const Plan plan = plan_of_bytes(text, dialect, Execution{}, policy);
    check.expect_aligned(plan);
    if (policy.pieces) expect_single_pieces(plan, text, dialect, policy);
    for (const std::size_t block_size : {1U, 7U, 64U, 1000U}) {
        SCOPED_TRACE(testing::Message() << "block size " << block_size);
        const auto kernels = available_kernels();
        const Kernel* kernel = kernels[block_size % kernels.size()];
        expect_same(plan_of_bytes(text, dialect, Execution{kernel, 2, block_size}, policy), plan);
    }
}

// How many pieces after the first start where their blocks could be shared.
std::size_t count_aligned(const Plan& plan, const Policy& policy) {
    return static_cast<std::size_t>(std::ranges::count_if(plan.pieces, [&](const Piece& piece) {
        const std::uint64_t header = header_size_in(policy.header, piece.number, plan.header_size);
        return piece.number > 1 && piece.length > 0 && piece.start % policy.alignment == header % policy.alignment;
    }));
}

TEST(AlignedCuts, AreTheNearestInTheWindow) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = text_for_alignment(random, dialect);
            Policy policy = random_limits(random, text.size());
            constexpr std::uint64_t kAlignments[] = {2, 7, 16, 64};
            policy.alignment = kAlignments[random.below(4)];
            if (random.chance(50)) {
                policy.records.reset();
                policy.max_bytes.reset();
                policy.pieces = 1 + random.below(random.chance(80) ? 10 : 300);
            }
            SCOPED_TRACE(testing::Message()
                         << "seed " << seed << "; " << describe(policy) << "; " << describe(dialect));
            expect_aligned_plan(text, dialect, policy);
        }
    }
}

// Every size and number of pieces, so that the ends of the window, and an end of input just before the cap, fall on
// each byte.
TEST(AlignedCuts, AtTheByte) {
    std::string text = "h,h\n";
    for (unsigned i = 0; text.size() < 2500; ++i) text += std::string(i % 4, 'r') + "\n";
    for (const HeaderMode header : kHeaderModes) {
        for (std::uint64_t number = 1; number <= text.size() + 10; number += stride(2, 8)) {
            Policy policy;
            policy.header = header;
            policy.alignment = 3 + number % 3;
            policy.max_bytes = number;
            SCOPED_TRACE(describe(policy));
            const PlanCheck check(text, Dialect{}, policy);
            if (check.has_plan()) check.expect_aligned(plan_of_bytes(text, Dialect{}, Execution{}, policy));
            policy.max_bytes.reset();
            policy.pieces = number % 40 + 1;
            const std::string part = text.substr(number / 40);
            PlanCheck(part, Dialect{}, policy).expect_aligned(plan_of_bytes(part, Dialect{}, Execution{}, policy));
        }
    }
}

TEST(AlignedCuts, AreFoundWhereTheyAreMany) {
    std::string text = "id,name\n";
    for (unsigned i = 0; text.size() < 3000000; ++i) text += std::to_string(i * 7919 % 100003) + ",x\n";
    for (const HeaderMode header : kHeaderModes) {
        Policy policy;
        policy.header = header;
        policy.alignment = 64;
        policy.pieces = 7;
        EXPECT_EQ(count_aligned(plan_of_bytes(text, Dialect{}, Execution{}, policy), policy), 6U);
        policy.pieces.reset();
        policy.max_bytes = 500000;
        const Plan plan = plan_of_bytes(text, Dialect{}, Execution{}, policy);
        EXPECT_EQ(count_aligned(plan, policy), plan.pieces.size() - 1);
    }
}

// A limit on records says exactly where to cut.
TEST(AlignedCuts, LeaveCountsAlone) {
    std::string text = "h\n";
    for (unsigned i = 0; i < 5000; ++i) text += "123\n";
    Policy policy;
    policy.alignment = 16;
    policy.max_bytes = 1000;
    policy.records = 101;
    Policy without = policy;
    without.alignment = 0;
    expect_same(plan_of_bytes(text, Dialect{}, Execution{}, policy),
                plan_of_bytes(text, Dialect{}, Execution{}, without));
}

TEST(AlignedCuts, OfAlmostNothing) {
    for (const HeaderMode header : kHeaderModes) {
        for (const std::string text : {"", "a", "\n", "a\n", "a\nb", "a\nb\nc\nd\n"}) {
            Policy policy;
            policy.header = header;
            policy.alignment = kCloneAlignment;
            policy.pieces = 3;
            expect_aligned_plan(text, Dialect{}, policy);
            policy.pieces.reset();
            policy.max_bytes = 2;
            expect_aligned_plan(text, Dialect{}, policy);
        }
    }
}

}  // namespace cleave::test::aligned_cuts_test
