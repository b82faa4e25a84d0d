#include "kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inputs.h"

namespace cleave::test {
namespace {

constexpr Quoting kRules[] = {Quoting::kFieldStart, Quoting::kAnywhere};

constexpr Rules rules_of(Quoting rule) { return rule == Quoting::kFieldStart ? Rules::kFieldStart : Rules::kAnywhere; }

// The offsets of the set bits, counted from `begin`.
std::vector<std::uint64_t> offsets_of(const std::vector<std::uint64_t>& words, std::uint64_t begin) {
    std::vector<std::uint64_t> offsets;
    for (std::size_t step = 0; step < words.size(); ++step) {
        for (std::size_t bit = 0; bit < kStepSize; ++bit) {
            if ((words[step] >> bit & 1) != 0) offsets.push_back(begin + step * kStepSize + bit);
        }
    }
    return offsets;
}

std::vector<std::uint64_t> offsets_between(const std::vector<std::uint64_t>& offsets, std::uint64_t begin,
                                           std::uint64_t end) {
    return {std::ranges::lower_bound(offsets, begin), std::ranges::lower_bound(offsets, end)};
}

// The block is the text from `begin` on. Both quote modes must read the text before it the same way.
class BlockCheck {
public:
    BlockCheck(const Kernel& kernel, const Dialect& dialect, std::string_view text, std::size_t begin, Carry before)
        : kernel_(kernel), dialect_(dialect), text_(text), begin_(begin), before_(before) {}

    void expect_summary() const {
        const BlockSummary summary = summarise(kernel_, dialect_, block(), before_);
        const bool suspect = summary.suspect[before_.inside] != 0;
        for (const Quoting rule : kRules) {
            if (suspect && (rule != Quoting::kAnywhere || !is_sure_of_anywhere(dialect_))) continue;
            const Reading reading = read_by_rules(text_, dialect_, rule);
            const auto starts = offsets_between(reading.starts, begin_, text_.size());
            EXPECT_EQ(summary.records[before_.inside], starts.size()) << explain(rule);
            EXPECT_EQ(summary.flips != 0, reading.open_at_end != (before_.inside != 0)) << explain(rule);
        }
    }

    // In a single quote mode the kernel marks everything except what escapes leave undecided; in both modes at once it
    // stops at the first suspect step. The marks that it sets must be right.
    void expect_marks(Rules rules) const {
        const Marked marked = mark(kernel_, dialect_, block(), rules, before_);
        if (marked.size < block().size()) {
            EXPECT_EQ(marked.size % kStepSize, 0U);
        }
        for (const Quoting rule : kRules) {
            if (rules != Rules::kBoth && rules != rules_of(rule)) continue;
            // The bytes after the marked ones do not affect them, except for the end of the text.
            const std::string_view read = text_.substr(0, begin_ + marked.size);
            const Reading reading = read_by_rules(read, dialect_, rule);
            const auto starts = offsets_between(reading.starts, begin_, read.size());
            EXPECT_EQ(offsets_of(marked.starts, begin_), starts) << explain(rule);
            EXPECT_EQ(marked.after.records, starts.size()) << explain(rule);
            EXPECT_EQ(marked.after.offset, marked.size) << explain(rule);
            const auto opens = offsets_between(reading.opens, begin_, read.size());
            EXPECT_EQ(marked.after.open_end, opens.empty() ? 0 : opens.back() + 1 - begin_) << explain(rule);
            EXPECT_EQ(marked.after.carry.inside != 0, reading.open_at_end) << explain(rule);
        }
        if (marked.size == block().size() || dialect_.escape) return;
        EXPECT_EQ(rules, Rules::kBoth) << explain(dialect_.quoting);
        const std::string_view read = block().substr(0, marked.size + kStepSize);
        EXPECT_NE(summarise(kernel_, dialect_, read, before_).suspect[before_.inside], 0) << explain(dialect_.quoting);
    }

private:
    std::string_view block() const { return text_.substr(begin_); }

    std::string explain(Quoting rule) const {
        Dialect dialect = dialect_;
        dialect.quoting = rule;
        return std::string(kernel_.name) + ": " + describe(dialect) + ", from byte " + std::to_string(begin_) +
               " of '" + shown(text_) + "'";
    }

    const Kernel& kernel_;
    Dialect dialect_;
    std::string_view text_;
    std::size_t begin_;
    Carry before_;
};

}  // namespace

BlockSummary summarise(const Kernel& kernel, const Dialect& dialect, std::string_view text, Carry before) {
    const Markup markup = markup_under_test(dialect);
    return kernel.summarise[markup.variant](markup, bytes_of(text).data(), text.size(), before);
}

Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules, Position before) {
    const Markup markup = markup_under_test(dialect);
    Marked marked{0, std::vector<std::uint64_t>((text.size() + kStepSize - 1) / kStepSize), before};
    marked.size = kernel.mark[static_cast<std::size_t>(rules)][markup.variant](
        markup, bytes_of(text).data(), text.size(), marked.after, marked.starts.data());
    marked.starts.resize((marked.size + kStepSize - 1) / kStepSize);
    return marked;
}

Marked mark(const Kernel& kernel, const Dialect& dialect, std::string_view text, Rules rules, Carry before) {
    return mark(kernel, dialect, text, rules, Position{before, 0, 0, 0});
}

Carry carry_after(const Dialect& dialect, std::string_view text, Carry before) {
    const bool has_escape = dialect.escape && (dialect.quote || dialect.escape_scope == EscapeScope::kEverywhere);
    const bool any = dialect.terminator == Terminator::kAny;
    for (const char c : text) {
        const auto byte = static_cast<std::uint8_t>(c);
        const bool escaped = has_escape && before.escaped != 0;
        const bool plain = escaped && dialect.escape_scope == EscapeScope::kEverywhere;
        const bool is_return = byte == '\r' && dialect.terminator != Terminator::kLf && !plain;
        const bool is_feed = byte == '\n' && dialect.terminator != Terminator::kCr && !plain;
        const bool toggles = dialect.quote == byte && !escaped;
        const auto bit = [](bool value) { return static_cast<std::uint8_t>(value ? 1 : 0); };
        before.escaped = bit(has_escape && dialect.escape == byte && !escaped);
        before.after_terminator = bit(is_return || is_feed);
        before.after_cr = bit(is_return && any);
        before.after_quote = bit(toggles);
        before.field_may_open = bit(toggles || is_return || is_feed || (dialect.delimiter == byte && !plain));
        before.inside ^= bit(toggles);
    }
    return before;
}

bool same(const Marked& a, const Marked& b) {
    return a.size == b.size && printed(a.after) == printed(b.after) && a.starts == b.starts;
}

std::string printed(const BlockSummary& summary) {
    return "records " + std::to_string(summary.records[0]) + "/" + std::to_string(summary.records[1]) + ", suspect " +
           std::to_string(summary.suspect[0]) + "/" + std::to_string(summary.suspect[1]) + ", flips " +
           std::to_string(summary.flips);
}

std::string printed(const Carry& carry) {
    std::string text;
    for (const std::uint8_t bit : {carry.inside, carry.escaped, carry.field_may_open, carry.after_terminator,
                                   carry.after_cr, carry.after_quote}) {
        text += std::to_string(bit);
    }
    return text;
}

std::string printed(const Position& position) {
    return printed(position.carry) + " at " + std::to_string(position.offset) + ", " +
           std::to_string(position.records) + " records, " + std::to_string(position.open_end);
}

BlockSummary compose(const BlockSummary& a, const BlockSummary& b) {
    BlockSummary whole{};
    whole.flips = a.flips ^ b.flips;
    for (const unsigned h : {0U, 1U}) {
        const unsigned via = h ^ a.flips;
        whole.records[h] = a.records[h] + b.records[via];
        whole.suspect[h] = a.suspect[h] | b.suspect[via];
    }
    return whole;
}

bool is_sure_of_anywhere(const Dialect& dialect) {
    return !dialect.quote || !dialect.escape || dialect.escape_scope == EscapeScope::kEverywhere;
}

void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text) {
    const BlockCheck from_start(kernel, dialect, text, 0, kCarryAtStart);
    from_start.expect_summary();
    for (const Rules rules : kEachRules) from_start.expect_marks(rules);
    if (!dialect.quote) return;
    const std::string quoted = static_cast<char>(*dialect.quote) + std::string(text);
    const Carry after_quote = {
        .inside = 1, .escaped = 0, .field_may_open = 1, .after_terminator = 0, .after_cr = 0, .after_quote = 1};
    const BlockCheck from_quote(kernel, dialect, quoted, 1, after_quote);
    from_quote.expect_summary();
    for (const Rules rules : kEachRules) from_quote.expect_marks(rules);
}

}  // namespace cleave::test
