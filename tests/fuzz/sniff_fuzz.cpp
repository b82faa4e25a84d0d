// The dialect settled from the head of a file is valid, keeps what was settled before, and depends on nothing but that
// head.
#include <gtest/gtest.h>

#include <algorithm>

#include "choices.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "csv_mutator.h"
#include "inputs.h"
#include "reference.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

DialectOptions make_wish(Choices& choices) {
    DialectOptions wanted;
    wanted.dialect = choices.dialect();
    wanted.sniff_delimiter = !choices.one_in(4);
    wanted.sniff_terminator = !choices.one_in(4);
    wanted.preamble.separator_line = SeparatorLine::kData;
    return wanted;
}

// A preamble ends at the end of a line, wherever the head ends.
void expect_preamble(DialectOptions wanted, const PreambleOptions& preamble, const std::string& head,
                     bool head_is_all) {
    wanted.preamble = preamble;
    try {
        const std::uint64_t size = settle_dialect(wanted, bytes_of(head), "in.csv").dialect.preamble;
        ASSERT_LE(size, head.size());
        EXPECT_TRUE(size == 0 || size == head.size() || head[size - 1] == '\n' || head[size - 1] == '\r');
    } catch (const InputError&) {
        EXPECT_FALSE(head_is_all);
    }
}

// The rule in cleave-dialects(7), "Terminators", applied by the reference. CRs at the end of an incomplete head are
// ignored, because an LF may follow.
Terminator terminator_by_rules(std::string head, Dialect dialect, bool head_is_all) {
    dialect.terminator = Terminator::kAny;
    while (!head_is_all && head.ends_with('\r')) head.pop_back();
    std::vector<std::uint64_t> ends = read_by_rules(head + "a", dialect).starts;
    if (head.size() == bom_size(bytes_of(head)) || ends.empty()) return Terminator::kLf;
    ends.erase(ends.begin());
    const auto is_feed = [&](std::uint64_t end) { return head[end - 1] == '\n'; };
    const auto first = std::ranges::find_if(ends, is_feed);
    if (first == ends.begin()) return Terminator::kLf;
    if (first == ends.end()) return Terminator::kCr;
    const auto feeds = static_cast<std::size_t>(std::ranges::count_if(ends, is_feed));
    const std::size_t returns = ends.size() - feeds;
    const bool is_last = head_is_all && head.find_first_not_of("\r\n", *first - 1) == std::string::npos;
    return returns > 1 && (is_last || returns >= 10 * feeds) ? Terminator::kAny : Terminator::kLf;
}

void expect_settled(const SniffedDialect& sniffed, const DialectOptions& wanted, const std::string& head,
                    bool head_is_all) {
    EXPECT_EQ(dialect_fault(sniffed.dialect), std::nullopt);
    Dialect expected = wanted.dialect;
    if (wanted.sniff_delimiter) expected.delimiter = sniffed.dialect.delimiter;
    if (wanted.sniff_terminator)
        expected.terminator = terminator_by_rules(head.substr(0, kSniffSize), sniffed.dialect, head_is_all);
    EXPECT_EQ(sniffed.dialect, expected);
    if (wanted.sniff_delimiter) {
        EXPECT_NE(std::string_view(",;\t|").find(static_cast<char>(expected.delimiter)), std::string_view::npos);
    } else {
        EXPECT_NE(sniffed.doubt, DialectDoubt::kQuotesUnexplained);
    }
}

bool same(const SniffedDialect& a, const SniffedDialect& b) { return a.dialect == b.dialect && a.doubt == b.doubt; }

struct Case {
    DialectOptions wanted;
    std::string name;
    PreambleOptions preamble;
    bool fills_head;
    std::string after;  // the bytes after the head
    Dialect dialect;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    static constexpr const char* kNames[] = {"in.csv", "in.tsv", "in.tab", "", "tsv", "-"};
    Case made;
    made.wanted = make_wish(choices);
    made.dialect = made.wanted.dialect;
    made.name = kNames[choices.below(std::size(kNames))];
    made.preamble.separator_line = static_cast<SeparatorLine>(choices.below(3));
    made.preamble.lines = choices.below(4);
    if (choices.one_in(2)) made.preamble.comment = choices.text(2);
    made.fills_head = choices.rarely(500);
    made.after = choices.text(choices.below(8));
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    auto [wanted, name, preamble, fills_head, after, dialect, text_at, text] = make_case(choices);
    if (fills_head) text = repeated(text, kSniffSize);

    const auto head = bytes_of(text);
    const SniffedDialect sniffed = settle_dialect(wanted, head, name);
    expect_settled(sniffed, wanted, text, !fills_head);
    expect_preamble(wanted, preamble, text, !fills_head);
    const std::string followed = fills_head ? text + after : text;
    EXPECT_TRUE(same(settle_dialect(wanted, bytes_of(followed), name), sniffed));

    const auto first = head.first(std::min<std::size_t>(head.size(), 4));
    EXPECT_EQ(bom_size(head), text.starts_with("\xEF\xBB\xBF") ? 3U : 0U);
    EXPECT_EQ(bom_size(first), bom_size(head));
    EXPECT_EQ(foreign_format(bytes_of(followed)), foreign_format(head));
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
