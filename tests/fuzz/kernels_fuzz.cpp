// Compares the first kernel that runs on this machine with the byte-at-a-time reference, where the reference applies,
// and every other kernel bit for bit with that one.
#include <gtest/gtest.h>

#include <algorithm>

#include "choices.h"
#include "csv_mutator.h"
#include "inputs.h"
#include "kernel_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

Carry any_carry(Choices& choices) {
    const std::uint8_t bits = choices.byte();
    const auto bit = [bits](unsigned number) { return static_cast<std::uint8_t>(bits >> number & 1); };
    return {.inside = bit(0),
            .escaped = bit(1),
            .field_may_open = bit(2),
            .after_terminator = bit(3),
            .after_cr = bit(4),
            .after_quote = bit(5)};
}

// The reference skips a byte order mark. Kernels never see one.
bool has_mark(const Dialect& dialect, const std::string& text) {
    const std::string quoted = static_cast<char>(dialect.quote.value_or(0)) + text;
    return bom_size(bytes_of(text)) > 0 || bom_size(bytes_of(quoted)) > 0;
}

void expect_same(const Kernel& kernel, const Kernel& first, const Dialect& dialect, std::string_view text,
                 Carry before) {
    const BlockSummary summary = summarise(kernel, dialect, text, before);
    EXPECT_EQ(printed(summary), printed(summarise(first, dialect, text, before))) << unique_name(&kernel);
    for (const Rules rules : kEachRules) {
        const Marked marked = mark(kernel, dialect, text, rules, before);
        EXPECT_TRUE(same(marked, mark(first, dialect, text, rules, before))) << unique_name(&kernel);
    }
}

// The summaries of the two parts of a text compose to the summary of the whole.
void expect_parts(const Kernel& kernel, const Dialect& dialect, std::string_view text, std::size_t cut, Carry before) {
    const BlockSummary a = summarise(kernel, dialect, text.substr(0, cut), before);
    const Carry between = carry_after(dialect, text.substr(0, cut), before);
    BlockSummary parts = compose(a, summarise(kernel, dialect, text.substr(cut), between));
    BlockSummary whole = summarise(kernel, dialect, text, before);
    if (!dialect.quote) parts.records[1] = whole.records[1] = 0;  // without quotes, nothing is inside
    EXPECT_EQ(printed(parts), printed(whole)) << unique_name(&kernel) << ", cut at " << cut;
}

void expect_lanes(const Kernel& kernel, const Dialect& dialect, std::string_view text, Carry before) {
    constexpr std::size_t kSize = kLaneUnit;
    const Carry each[kLaneCount] = {kCarryAtStart, before, kCarryAtStart, before};
    BlockSummary lanes[kLaneCount];
    const Markup markup = markup_under_test(dialect);
    kernel.summarise_lanes[markup.variant](markup, bytes_of(text).data(), kSize, each, lanes);
    for (std::size_t i = 0; i < kLaneCount; ++i) {
        EXPECT_EQ(printed(lanes[i]), printed(summarise(kernel, dialect, text.substr(i * kSize, kSize), each[i])))
            << unique_name(&kernel) << ", lane " << i;
    }
}

struct Case {
    Dialect dialect;
    Carry before;
    std::size_t cut;
    bool is_long;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    Case made;
    made.dialect = choices.dialect();
    made.before = any_carry(choices);
    made.cut = choices.byte();
    made.is_long = choices.one_in(64);
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    auto [dialect, before, cut, is_long, text_at, text] = make_case(choices);
    if (is_long) {
        text = repeated(text, kLaneCount * kLaneUnit + text.size());  // long enough for the lanes
        for (const Kernel* kernel : kKernels) expect_lanes(*kernel, dialect, text, before);
    } else if (!has_mark(dialect, text)) {
        expect_as_reference(*kKernels.front(), dialect, text);
    }
    for (const Kernel* kernel : kKernels) {
        if (kernel != kKernels.front()) expect_same(*kernel, *kKernels.front(), dialect, text, before);
    }
    expect_parts(*kKernels.front(), dialect, text, std::min(cut, text.size()), before);
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_csv({data, max_size}, size, seed, made.text_at, made.dialect);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
