// What a kernel says of a text, and whether that is what the reference says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels_under_test.h"
#include "reference.h"

namespace cleave::test {

BlockSummary summarise(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                       Carry before = kCarryAtStart);

// What Kernel::mark has done.
struct Marked {
    std::size_t size;                   // the number of bytes that were marked
    std::vector<std::uint64_t> starts;  // of those
    Position after;
};
Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules, Position before);
Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules,
            Carry before = kCarryAtStart);
constexpr Rules kEachRules[] = {Rules::kFieldStart, Rules::kAnywhere, Rules::kBoth};

// The state after the text as summaries take it: an escape acts wherever it may, every quote toggles.
Carry carry_after(const Dialect& dialect, std::string_view text, Carry before);

bool same(const Marked& a, const Marked& b);

// Field by field, for EXPECT_EQ.
std::string printed(const BlockSummary& summary);
std::string printed(const Carry& carry);
std::string printed(const Position& position);

// doc/design.md, "Two hypotheses": the summary of two blocks of which `b` follows `a`.
BlockSummary compose(const BlockSummary& a, const BlockSummary& b);

// Whether by the `anywhere` rule the kernel is right even where it is suspect.
bool is_sure_of_anywhere(const Dialect& dialect);

// Expects that the kernel's summary (of the text at the start of an input, and of the text after an opening quote) and
// its marks are what the reference reads by both rules, as far as the kernel is not suspect.
void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text);

}  // namespace cleave::test
