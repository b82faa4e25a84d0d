// Compares every kernel with the byte-at-a-time reference and with the other kernels.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "core/kernels/markup.h"
#include "guarded_memory.h"
#include "inputs.h"
#include "kernel_check.h"

namespace cleave::test::kernel_test {

constexpr std::size_t kMaxSize = 300;

class KernelTest : public testing::TestWithParam<const Kernel*> {
protected:
    const Kernel& kernel() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(, KernelTest, testing::ValuesIn(kernels_under_test()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

// Whether a quote opens where no field starts: doc/internals/design.md, "The suspect bit", for dialects without
// escapes.
bool has_unexplained_quote(std::string_view text, const Dialect& dialect, bool inside) {
    const auto may_open_after = [&](char before) {
        const bool terminator = (before == '\n' && dialect.terminator != Terminator::kCr) ||
                                (before == '\r' && dialect.terminator != Terminator::kLf);
        return terminator || before == static_cast<char>(dialect.delimiter) ||
               before == static_cast<char>(*dialect.quote);
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != static_cast<char>(*dialect.quote)) continue;
        if (!inside && i > 0 && !may_open_after(text[i - 1])) return true;
        inside = !inside;
    }
    return false;
}

Carry random_carry(Random& random) {
    Carry carry{};
    for (std::uint8_t* bit : {&carry.inside, &carry.escaped, &carry.field_may_open, &carry.after_terminator,
                              &carry.after_cr, &carry.after_quote}) {
        *bit = random.chance(50) ? 1 : 0;
    }
    return carry;
}

TEST_P(KernelTest, ReadsAsTheReferenceAtAllSizes) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            for (std::size_t size = 0; size <= kMaxSize; ++size) {
                expect_as_reference(kernel(), dialect, random_text(random, dialect, size));
            }
        }
    }
}

TEST_P(KernelTest, DoesNotDependOnAlignment) {
    GuardedMemory memory;
    Random random(1);
    for (const Dialect& dialect : every_dialect()) {
        SCOPED_TRACE(describe(dialect));
        for (std::size_t size = 0; size <= kMaxSize; size += stride(5, 11)) {
            const std::string text = random_text(random, dialect, size);
            const std::string expected = printed(summarise(kernel(), dialect, text));
            const Rules rules = kEachRules[size % std::size(kEachRules)];
            const Marked marked = mark(kernel(), dialect, text, rules);
            for (std::size_t alignment = 0; alignment < 64; ++alignment) {
                const std::string_view moved = memory.at(text, alignment);
                ASSERT_EQ(printed(summarise(kernel(), dialect, moved)), expected) << alignment << ": " << shown(text);
                ASSERT_TRUE(same(mark(kernel(), dialect, moved, rules), marked)) << alignment << ": " << shown(text);
            }
        }
    }
}

TEST_P(KernelTest, ReadsNothingOutsideTheRange) {
    GuardedMemory memory;
    Random random(2);
    for (const Dialect& dialect : every_dialect()) {
        SCOPED_TRACE(describe(dialect));
        for (std::size_t size = 0; size <= kMaxSize; ++size) {
            const std::string text = random_text(random, dialect, size);
            const std::string expected = printed(summarise(kernel(), dialect, text));
            const std::size_t marked = mark(kernel(), dialect, text, Rules::kBoth).size;
            for (const std::string_view place : {memory.at_front(text), memory.at_back(text)}) {
                EXPECT_EQ(printed(summarise(kernel(), dialect, place)), expected) << shown(text);
                EXPECT_EQ(mark(kernel(), dialect, place, Rules::kBoth).size, marked) << shown(text);
            }
        }
    }
}

// The bytes that follow the block in memory must not matter either.
TEST_P(KernelTest, DoesNotSeeWhatFollows) {
    Random random(3);
    for (const Dialect& dialect : every_dialect()) {
        SCOPED_TRACE(describe(dialect));
        for (std::size_t size = 0; size <= 2 * kStepSize; ++size) {
            const std::string text = random_text(random, dialect, size);
            const std::string followed = text + random_noise(random, alphabet_of(dialect), kStepSize);
            EXPECT_EQ(printed(summarise(kernel(), dialect, std::string_view(followed).substr(0, size))),
                      printed(summarise(kernel(), dialect, text)))
                << shown(followed);
        }
    }
}

// Under both hypotheses, wherever the text is cut, the summaries of the parts compose to the summary of the whole.
TEST_P(KernelTest, SummariesCompose) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            const std::string text = random_text(random, dialect, random.below(kMaxSize));
            const std::string_view view = text;
            const Carry before = random.chance(50) ? kCarryAtStart : random_carry(random);
            for (std::size_t cut = 0; cut <= text.size(); ++cut) {
                const BlockSummary a = summarise(kernel(), dialect, view.substr(0, cut), before);
                const Carry between = carry_after(dialect, view.substr(0, cut), before);
                const BlockSummary b = summarise(kernel(), dialect, view.substr(cut), between);
                BlockSummary parts = compose(a, b);
                BlockSummary whole = summarise(kernel(), dialect, view, before);
                if (!dialect.quote) parts.records[1] = whole.records[1] = 0;  // without quotes, nothing is inside
                ASSERT_EQ(printed(parts), printed(whole)) << cut << ": " << shown(text);
            }
        }
    }
}

// Lanes are only a faster way to compute the same summaries.
TEST_P(KernelTest, SummarisesLanesAsOneByOne) {
    for (std::uint64_t seed = 0; seed < rounds(24); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            const std::size_t lane_size = kLaneUnit * (1 + random.below(3));
            std::string text = random_text(random, dialect, lane_size * kLaneCount);
            text.resize(lane_size * kLaneCount, '\n');
            Carry before[kLaneCount];
            for (Carry& carry : before) carry = random_carry(random);
            BlockSummary lanes[kLaneCount];
            const Markup markup = markup_of(dialect);
            GuardedMemory memory(2);
            const std::string_view place = memory.at_back(text);
            kernel().summarise_lanes[markup.variant](markup, bytes_of(place).data(), lane_size, before, lanes);
            for (std::size_t i = 0; i < kLaneCount; ++i) {
                const std::string_view lane = place.substr(i * lane_size, lane_size);
                ASSERT_EQ(printed(lanes[i]), printed(summarise(kernel(), dialect, lane, before[i])))
                    << "lane " << i << ": " << shown(text);
            }
        }
    }
}

// A walk in two parts sets the same marks as a walk in one.
TEST_P(KernelTest, MarksGoOnWhereTheyStopped) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            const std::string text = random_text(random, dialect, kMaxSize);
            const std::string_view view = text;
            for (const Rules rules : kEachRules) {
                const Marked whole = mark(kernel(), dialect, view, rules);
                for (std::size_t cut = 0; cut <= whole.size; cut += kStepSize) {
                    const Marked a = mark(kernel(), dialect, view.substr(0, cut), rules);
                    const Marked b = mark(kernel(), dialect, view.substr(cut), rules, a.after);
                    const auto here = whole.starts.begin() + static_cast<std::ptrdiff_t>(cut / kStepSize);
                    const Marked expected{whole.size - cut, {here, whole.starts.end()}, whole.after};
                    ASSERT_TRUE(same(b, expected)) << cut << ": " << shown(text);
                }
            }
        }
    }
}

TEST_P(KernelTest, AgreesWithScalarBitForBit) {
    const Kernel& scalar = kernel_by_name("scalar");
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            for (std::size_t size = 0; size <= kMaxSize; ++size) {
                const std::string text = random_text(random, dialect, size);
                const Carry before = random_carry(random);
                ASSERT_EQ(printed(summarise(kernel(), dialect, text, before)),
                          printed(summarise(scalar, dialect, text, before)))
                    << shown(text);
                for (const Rules rules : kEachRules) {
                    ASSERT_TRUE(
                        same(mark(kernel(), dialect, text, rules, before), mark(scalar, dialect, text, rules, before)))
                        << shown(text);
                }
            }
        }
    }
}

// With too few suspects the cuts are wrong; with too many the scan is slow for no reason.
TEST_P(KernelTest, SuspectsExactlyTheUnexplainedQuotes) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            if (dialect.escape || !dialect.quote) continue;
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            for (std::size_t size = 0; size <= kMaxSize; ++size) {
                const std::string text = random_text(random, dialect, size);
                const BlockSummary summary = summarise(kernel(), dialect, text);
                for (const bool inside : {false, true}) {
                    EXPECT_EQ(summary.suspect[inside ? 1 : 0] != 0, has_unexplained_quote(text, dialect, inside))
                        << inside << ": " << shown(text);
                }
            }
        }
    }
}

TEST_P(KernelTest, DoesNotSuspectWhatWritersWrite) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            const std::string text = random_csv(random, dialect, kMaxSize, 0);
            EXPECT_EQ(summarise(kernel(), dialect, text).suspect[0], 0)
                << "seed " << seed << ", " << describe(dialect) << ": " << shown(text);
        }
    }
}

// The caller chooses the block size. A long block is read in four parts, whose summaries must compose to the summary of
// the whole.
TEST_P(KernelTest, ReadsLongBlocks) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            const std::string text = random_csv(random, dialect, 8000 + random.below(20000), seed % 2 == 0 ? 0 : 1);
            const std::string_view view = text;
            BlockSummary parts{};
            Carry between = kCarryAtStart;
            for (std::size_t i = 0; i < view.size(); i += 100) {
                const std::string_view part = view.substr(i, 100);
                parts = compose(parts, summarise(kernel(), dialect, part, between));
                between = carry_after(dialect, part, between);
            }
            BlockSummary whole = summarise(kernel(), dialect, text);
            if (!dialect.quote) parts.records[1] = whole.records[1] = 0;
            EXPECT_EQ(printed(parts), printed(whole));
            if (seed % 8 == 0) expect_as_reference(kernel(), dialect, text);
        }
    }
}

#ifdef __x86_64__
TEST(Kernels, AreAvailableWhereTheCompilersLibrarySaysSo) {
    std::set<std::string_view> names;
    for (const Kernel* kernel : available_kernels()) names.insert(kernel_name(*kernel));
    const bool has_bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                          __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
    const bool has_avx512 = has_bits && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                            __builtin_cpu_supports("avx512vl");
    EXPECT_EQ(names.contains("avx2"), has_bits && __builtin_cpu_supports("avx2"));
    EXPECT_EQ(names.contains("avx512"), has_avx512);
    EXPECT_EQ(names.contains("avx512vbmi2"),
              has_avx512 && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vpopcntdq"));
    EXPECT_TRUE(names.contains("sse2"));
}
#endif

TEST(Kernels, HaveNames) {
    for (const Kernel* kernel : available_kernels()) EXPECT_EQ(&kernel_by_name(kernel_name(*kernel)), kernel);
    EXPECT_EQ(kernel_name(*available_kernels().back()), "scalar");
    EXPECT_THROW(kernel_by_name("mmx"), std::invalid_argument);
}

}  // namespace cleave::test::kernel_test
