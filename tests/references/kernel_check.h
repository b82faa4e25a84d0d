// Compares a kernel's findings about a text with the reference's.
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

// The result of Kernel::mark.
struct Marked {
    std::size_t size;                   // how many bytes were marked
    std::vector<std::uint64_t> starts;  // the record starts in those bytes
    Position after;
};
Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules, Position before);
Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules,
            Carry before = kCarryAtStart);
constexpr Rules kEachRules[] = {Rules::kFieldStart, Rules::kAnywhere, Rules::kBoth};

// The state after the text as summaries see it: an escape acts everywhere that it may, and every quote toggles.
Carry carry_after(const Dialect& dialect, std::string_view text, Carry before);

bool same(const Marked& a, const Marked& b);

// The fields of the summary as text, for EXPECT_EQ.
std::string printed(const BlockSummary& summary);
std::string printed(const Carry& carry);
std::string printed(const Position& position);

// The summary of block `a` followed by block `b` (doc/internals/design.md, "Two hypotheses").
BlockSummary compose(const BlockSummary& a, const BlockSummary& b);

// Whether the kernel is right in quote mode `anywhere` even where it is suspect.
bool is_sure_of_anywhere(const Dialect& dialect);

// Expects the kernel's summaries (of the text at the start of an input, and of the text after an opening quote) and its
// marks to match the reference in both quote modes, wherever the kernel is not suspect.
void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text);

}  // namespace cleave::test
