// The proof of doc/design.md, "The suspect bit", on all short texts: where nothing is suspect, the two quote rules find
// the same records, and the kernel finds them.
#include <gtest/gtest.h>

#include "inputs.h"
#include "kernel_check.h"

namespace cleave::test {
namespace {

struct Domain {
    const char* name;
    std::string_view alphabet;
    unsigned length;            // of the longest text
    unsigned length_sanitized;  // the same where each step is slow
    Dialect dialect;
};

Dialect dialect_of(Terminator terminator, bool escape, EscapeScope scope = EscapeScope::kEverywhere) {
    Dialect dialect;
    dialect.terminator = terminator;
    if (escape) dialect.escape = '\\';
    dialect.escape_scope = scope;
    return dialect;
}

const Domain kDomains[] = {
    {"plain", "a,\"\n", 10, 7, dialect_of(Terminator::kLf, false)},
    {"escape_everywhere", "a,\"\n\\", 9, 6, dialect_of(Terminator::kLf, true)},
    {"escape_quoted", "a,\"\n\\", 9, 6, dialect_of(Terminator::kLf, true, EscapeScope::kQuoted)},
    {"any", "a,\"\n\r", 9, 6, dialect_of(Terminator::kAny, false)},
    {"any_escape_everywhere", "a,\"\n\r\\", 8, 5, dialect_of(Terminator::kAny, true)},
    {"any_escape_quoted", "a,\"\n\r\\", 8, 5, dialect_of(Terminator::kAny, true, EscapeScope::kQuoted)},
    {"cr", "a,\"\n\r", 8, 6, dialect_of(Terminator::kCr, false)},
};

class ProofTest : public testing::TestWithParam<Domain> {};

INSTANTIATE_TEST_SUITE_P(, ProofTest, testing::ValuesIn(kDomains),
                         [](const auto& parameter) { return parameter.param.name; });

// Goes to the next text of the same length; false after the last.
bool next_text(std::string& text, std::string_view alphabet) {
    for (char& byte : text) {
        const std::size_t next = alphabet.find(byte) + 1;
        byte = alphabet[next % alphabet.size()];
        if (next < alphabet.size()) return true;
    }
    return false;
}

bool is_clear(const Kernel& kernel, const Dialect& dialect, const std::string& text) {
    const BlockSummary summary = summarise(kernel, dialect, text);
    if (summary.suspect[0] != 0) return false;
    const Reading reading = read_by_rules(text, dialect, Quoting::kFieldStart);
    const Reading other = read_by_rules(text, dialect, Quoting::kAnywhere);
    EXPECT_EQ(reading.starts, other.starts) << shown(text);
    EXPECT_EQ(reading.opens, other.opens) << shown(text);
    EXPECT_EQ(reading.open_at_end, other.open_at_end) << shown(text);
    EXPECT_EQ(summary.records[0], reading.starts.size()) << shown(text);
    EXPECT_EQ(summary.flips != 0, reading.open_at_end) << shown(text);

    const Marked marked = mark(kernel, dialect, text, Rules::kBoth);
    std::uint64_t starts = 0;
    for (const std::uint64_t offset : reading.starts) starts |= std::uint64_t{1} << offset;
    EXPECT_EQ(marked.size, text.size()) << shown(text);
    EXPECT_EQ(marked.starts[0], starts) << shown(text);
    EXPECT_EQ(marked.after.open_end, reading.opens.empty() ? 0 : reading.opens.back() + 1) << shown(text);
    return true;
}

TEST_P(ProofTest, BothRulesAgreeWhereNothingIsSuspect) {
    const Domain& domain = GetParam();
    const Kernel& kernel = *available_kernels().front();
    std::uint64_t clear = 0;
    std::uint64_t all = 0;
    for (std::size_t length = 1; length <= (kSanitized ? domain.length_sanitized : domain.length); ++length) {
        std::string text(length, domain.alphabet.front());
        do {
            ++all;
            if (is_clear(kernel, domain.dialect, text)) ++clear;
            ASSERT_FALSE(HasFailure());
        } while (next_text(text, domain.alphabet));
    }
    // It would be an empty proof if most were suspect.
    EXPECT_GT(clear, all / 4) << "of " << all;
}

}  // namespace
}  // namespace cleave::test
