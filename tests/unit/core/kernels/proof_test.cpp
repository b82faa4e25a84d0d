// Checks the proof of doc/internals/design.md, "The suspect bit", on all short strings: where nothing is suspect, both
// quote modes find the same records, and so does every kernel.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs.h"
#include "kernel_check.h"

namespace cleave::test::proof_test {

struct Domain {
    const char* name;
    std::string_view alphabet;
    unsigned length;            // of the longest string, in a thorough run; two less in others
    unsigned length_sanitized;  // the same, in sanitised builds
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

// Advances to the next string of the same length; returns false after the last.
bool next_text(std::string& text, std::string_view alphabet) {
    for (char& byte : text) {
        const std::size_t next = alphabet.find(byte) + 1;
        byte = alphabet[next % alphabet.size()];
        if (next < alphabet.size()) return true;
    }
    return false;
}

// What the kernels must find in a text that both quote modes read the same way.
struct Wanted {
    std::uint64_t records;
    std::uint64_t starts;    // a bit for each byte at which a record starts
    std::uint64_t open_end;  // just past the last quote that opens a section; 0 if there is no such quote
    bool open_at_end;
};

// Expects both quote modes to read the text the same way.
Wanted read_by_both(const Dialect& dialect, const std::string& text) {
    const Reading reading = read_by_rules(text, dialect, Quoting::kFieldStart);
    const Reading other = read_by_rules(text, dialect, Quoting::kAnywhere);
    EXPECT_EQ(reading.starts, other.starts) << shown(text);
    EXPECT_EQ(reading.opens, other.opens) << shown(text);
    EXPECT_EQ(reading.open_at_end, other.open_at_end) << shown(text);
    std::uint64_t starts = 0;
    for (const std::uint64_t offset : reading.starts) starts |= std::uint64_t{1} << offset;
    return {reading.starts.size(), starts, reading.opens.empty() ? 0 : reading.opens.back() + 1, reading.open_at_end};
}

// The texts that kernels have read. The reference reads each one once for all kernels.
class Proof {
public:
    explicit Proof(const Dialect& dialect) : dialect_(dialect) {
        for (const Kernel* kernel : kernels_under_test()) clear_.push_back({kernel, 0});
    }

    void look_at(const std::string& text) {
        std::optional<Wanted> wanted;
        for (auto& [kernel, count] : clear_) {
            const BlockSummary summary = summarise(*kernel, dialect_, text);
            if (summary.suspect[0] != 0) continue;
            if (!wanted) wanted = read_by_both(dialect_, text);
            expect(*wanted, *kernel, summary, text);
            ++count;
        }
        ++all_;
    }

    // If most strings were suspect, the proof would say little.
    void expect_many() const {
        EXPECT_FALSE(clear_.empty());
        EXPECT_GT(all_, 0U);
        for (const auto& [kernel, count] : clear_) {
            EXPECT_GT(count, 0U) << unique_name(kernel);
            EXPECT_GT(count, all_ / 4) << unique_name(kernel) << ", of " << all_;
        }
    }

private:
    void expect(const Wanted& wanted, const Kernel& kernel, const BlockSummary& summary,
                const std::string& text) const {
        const auto place = [&] { return unique_name(&kernel) + ": " + shown(text); };
        EXPECT_EQ(summary.records[0], wanted.records) << place();
        EXPECT_EQ(summary.flips != 0, wanted.open_at_end) << place();
        const Marked marked = mark(kernel, dialect_, text, Rules::kBoth);
        EXPECT_EQ(marked.size, text.size()) << place();
        EXPECT_EQ(marked.starts[0], wanted.starts) << place();
        EXPECT_EQ(marked.after.open_end, wanted.open_end) << place();
    }

    struct Clear {
        const Kernel* kernel;
        std::uint64_t count;  // the number of texts in which this kernel suspects nothing
    };

    Dialect dialect_;
    std::vector<Clear> clear_;
    std::uint64_t all_ = 0;
};

TEST_P(ProofTest, BothRulesAgreeWhereNothingIsSuspect) {
    const Domain& domain = GetParam();
    Proof proof(domain.dialect);
    const std::size_t longest = kSanitized ? domain.length_sanitized : domain.length - (is_thorough() ? 0 : 2);
    for (std::size_t length = 1; length <= longest; ++length) {
        std::string text(length, domain.alphabet.front());
        do {
            proof.look_at(text);
            ASSERT_FALSE(HasFailure());
        } while (next_text(text, domain.alphabet));
    }
    proof.expect_many();
}

}  // namespace cleave::test::proof_test
