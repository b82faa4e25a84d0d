// The functions of cleave_scan.h: on all short strings, cut anywhere, beside the state machine; on random buffers, cut
// anywhere, beside the reference, with every kernel.
#include "core/scan/boundary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "boundary_check.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel_list.h"
#include "inputs.h"
#include "kernels_under_test.h"

namespace cleave::test::boundary_test {

// What a reader finds in a text.
struct Answer {
    cleave_scan_state state;
    cleave_scan_row row{0, CLEAVE_SCAN_NONE, CLEAVE_SCAN_NONE, CLEAVE_SCAN_BEFORE, 0};
    cleave_scan_counts counts{0, CLEAVE_SCAN_NONE, CLEAVE_SCAN_NONE, 0};
    std::vector<std::uint64_t> starts = {};
};

bool may_be_open(State state) { return is_quoted(state) || state == State::kQuoteInQuoted; }

// As the state machine finds it, byte by byte.
Answer answer_of(const StateMachine& machine, const Dialect& dialect, const cleave_scan_state& before,
                 std::string_view text) {
    Answer answer{.state = before};
    auto& [after, row, counts, starts] = answer;
    const auto end_record = [&after = after, &counts = counts] {
        ++counts.records;
        counts.last = after.offset;
    };
    State state = before.state == CLEAVE_SCAN_START ? State::kRecordStart : static_cast<State>(before.state);
    for (const char byte : text) {
        const Transition step = machine.step(state, static_cast<std::uint8_t>(byte));
        if (step.starts_record) starts.push_back(after.offset);
        if (step.opens_quote) row.open_quote = after.open_quote = after.offset;
        if (state == State::kCarriageReturn && byte != '\n') end_record();
        ++after.offset;
        if (step.next == State::kRecordStart) end_record();
        state = !dialect.quote && step.next == State::kFieldStart ? State::kUnquoted : step.next;
        after.state = static_cast<std::uint32_t>(state);
    }
    if (!may_be_open(state)) row.open_quote = after.open_quote = CLEAVE_SCAN_NONE;
    row.records = starts.size();
    if (!starts.empty()) {
        row.first = starts.front();
        row.last = starts.back();
    }
    row.state = after.state;
    if (is_quoted(state)) counts.open_quote = after.open_quote;
    counts.ending = (is_past_record(state) ? 0 : CLEAVE_SCAN_UNTERMINATED) |
                    (state == State::kCarriageReturn ? CLEAVE_SCAN_LONE_RETURN : 0) |
                    (is_quoted(state) ? CLEAVE_SCAN_OPEN_QUOTE : 0) | (is_escape(state) ? CLEAVE_SCAN_OPEN_ESCAPE : 0);
    return answer;
}

template <class Value>
void expect_same(const Value& found, const Value& wanted, const char* what, std::string_view text) {
    if (std::memcmp(&found, &wanted, sizeof found) == 0) return;
    ADD_FAILURE() << what << " of " << shown(text) << ": " << testing::PrintToString(found) << ", not "
                  << testing::PrintToString(wanted);
}

// Expects what the functions find in the text, from this state, to be the answer.
void expect_answer(const cleave_scan_dialect& dialect, const cleave_scan_state& before, std::string_view text,
                   const Answer& answer) {
    cleave_scan_state state = before;
    cleave_scan_counts counts;
    EXPECT_EQ(cleave_scan(&dialect, &state, text.data(), text.size(), &counts), 0);
    expect_same(state, answer.state, "state", text);
    expect_same(counts, answer.counts, "counts", text);
    state = before;
    std::uint64_t starts[16];
    const std::size_t count = cleave_scan_starts(&dialect, &state, text.data(), text.size(), starts, std::size(starts));
    expect_same(state, answer.state, "state after starts", text);
    EXPECT_TRUE(std::ranges::equal(std::span(starts).first(count), answer.starts)) << shown(text);
}

// Every byte with a role in the dialect, and one without.
std::string roles_of(const Dialect& dialect) {
    std::string roles = "x\n";
    if (dialect.terminator != Terminator::kLf) roles += '\r';
    if (dialect.escape) roles += static_cast<char>(*dialect.escape);
    if (dialect.quote) roles += {static_cast<char>(*dialect.quote), static_cast<char>(dialect.delimiter)};
    return roles;
}

bool next_text(std::string& text, std::string_view alphabet) {
    for (char& byte : text) {
        const std::size_t next = alphabet.find(byte) + 1;
        byte = alphabet[next % alphabet.size()];
        if (next < alphabet.size()) return true;
    }
    return false;
}

// CLEAVE_BOUNDARY_LENGTH=9, set by ./dev prove, takes five minutes of a processor.
std::size_t longest_text() {
    const char* length = std::getenv("CLEAVE_BOUNDARY_LENGTH");
    return length != nullptr ? std::strtoul(length, nullptr, 10) : kSanitized ? 4 : 6;
}

class BoundaryProof : public testing::TestWithParam<Dialect> {};

INSTANTIATE_TEST_SUITE_P(, BoundaryProof, testing::ValuesIn(every_dialect_and_rule()));

// A string is read as by the machine, from the start of an input, and if it can follow other bytes, from every state.
// The machine reads byte by byte, so any parts of a string, one after the other, give what the whole gives. Summaries
// of parts compose to that of the whole if those of all different summaries do: one string stands for all that have the
// same.
TEST_P(BoundaryProof, EveryShortStringCutAnywhere) {
    constexpr std::uint64_t kBegin = 1000;
    const Dialect& dialect = GetParam();
    const cleave_scan_dialect plain = plain_dialect(dialect);
    const StateMachine machine(dialect);
    const std::string alphabet = roles_of(dialect);
    const std::size_t longest = longest_text();
    const auto summary_at = [&](std::string_view text, std::uint64_t begin) {
        return summary_of(preferred_kernel(), dialect, text, begin);
    };
    std::set<std::string> summaries;
    std::vector<std::string> different;  // a string with each, the shortest ones first
    for (std::size_t length = 0; length <= longest; ++length) {
        std::string text(length, alphabet.front());
        do {
            const cleave_scan_state start = cleave_scan_begin(&plain);
            expect_answer(plain, start, text, answer_of(machine, dialect, start, text));
            const cleave_scan_summary whole = summary_at(text, kBegin);
            for (std::uint32_t state = 0; state < CLEAVE_SCAN_START; ++state) {
                if (whole.rows[state].state == CLEAVE_SCAN_STATES) continue;
                const std::uint64_t open = may_be_open(static_cast<State>(state)) ? 7 : CLEAVE_SCAN_NONE;
                const cleave_scan_state before{CLEAVE_SCAN_VERSION, state, kBegin, open};
                const Answer answer = answer_of(machine, dialect, before, text);
                expect_same(whole.rows[state], answer.row, "row", text);
                if (length < longest) expect_answer(plain, before, text, answer);
            }
            if (summaries.emplace(reinterpret_cast<const char*>(whole.rows), sizeof whole.rows).second) {
                different.push_back(text);
            }
            ASSERT_FALSE(HasFailure()) << shown(text);
        } while (next_text(text, alphabet));
    }
    for (const std::string& first : different) {
        const cleave_scan_summary a = summary_at(first, kBegin);
        for (const std::string& second : different) {
            if (first.size() + second.size() > longest) break;
            const cleave_scan_summary b = summary_at(second, kBegin + first.size());
            cleave_scan_summary both;
            ASSERT_EQ(cleave_compose(&a, &b, &both), 0);
            expect_same(both, summary_at(first + second, kBegin), "summary", first + second);
        }
    }
}

TEST(BoundaryTest, ByteOrderMarksCutAnywhere) {
    for (Dialect dialect : some_dialects()) {
        for (const char* quote : {"\"", "\xEF", "\xBB", "\xBF"}) {
            if (dialect.quote) dialect.quote = static_cast<std::uint8_t>(*quote);
            std::string alphabet = "\xEF\xBB\xBF\n,";
            if (alphabet.find(*quote) == std::string::npos) alphabet += *quote;
            for (std::size_t length = 0; length <= (kSanitized ? 3 : 4); ++length) {
                std::string text(length, alphabet.front());
                do {
                    expect_as_reference(preferred_kernel(), dialect, text, {});
                    expect_same_in_parts(preferred_kernel(), dialect, text);
                    ASSERT_FALSE(HasFailure()) << shown(text) << ", " << describe(dialect);
                } while (next_text(text, alphabet));
            }
        }
    }
}

TEST(BoundaryTest, RandomBuffersCutAnywhere) {
    const std::vector<Dialect> dialects = every_dialect_and_rule();
    for (unsigned round = 0; round < rounds(20000); ++round) {
        Random random(round);
        const Dialect dialect = dialects[random.below(dialects.size())];
        const std::size_t size = random.below(1000) == 0 ? random.below(3000000)
                                 : random.chance(1)      ? random.below(300000)
                                 : random.chance(30)     ? random.below(10000)
                                                         : random.below(600);
        std::string text = random.chance(10) ? "\xEF\xBB\xBF" : "";
        if (random.chance(5) && dialect.escape) text.append(random.below(6000), static_cast<char>(*dialect.escape));
        text += random_text(random, dialect, size);
        std::vector<std::size_t> cuts(random.below(5));
        for (std::size_t& cut : cuts) cut = random.below(text.size() + 1);
        std::ranges::sort(cuts);
        const auto kernels = kernels_under_test();
        expect_as_reference(*kernels[random.below(kernels.size())], dialect, text, cuts);
        ASSERT_FALSE(HasFailure()) << "round " << round << ", " << describe(dialect);
    }
}

// Parts begin after 256 bytes. Where no record starts in a part, what it does to an open quote is found by other means.
TEST(BoundaryTest, QuotesOpenAndCloseInPartsWithoutRecords) {
    for (const Kernel* kernel : kernels_under_test()) {
        for (const Dialect& dialect : {Dialect(), [] {
                                           Dialect other;
                                           other.quoting = Quoting::kAnywhere;
                                           return other;
                                       }()}) {
            for (const char* middle : {"", "\"\"", "\",\"", "\"\n\"", "\",", R"(","b",")"}) {
                for (std::size_t at = 250; at < 262; ++at) {
                    const std::string text = "a,\"" + std::string(at - 3, 'x') + "\"\"" + std::string(2000, 'x') +
                                             middle + std::string(7000, 'x');
                    expect_as_reference(*kernel, dialect, text, {});
                    expect_as_reference(*kernel, dialect, text, {100, 7000});
                    ASSERT_FALSE(HasFailure()) << at;
                }
            }
        }
    }
}

TEST(BoundaryTest, StartsStopWhereTheRoomEnds) {
    cleave_scan_dialect dialect = CLEAVE_SCAN_CSV;
    dialect.terminator = CLEAVE_SCAN_ANY;
    const std::string text = "a\r\nb\r\r\n\"c\n\"\n";
    for (std::size_t room = 1; room < 6; ++room) {
        cleave_scan_state state = cleave_scan_begin(&dialect);
        std::vector<std::uint64_t> all;
        while (state.offset < text.size()) {
            std::uint64_t out[6] = {};
            const std::size_t count =
                cleave_scan_starts(&dialect, &state, text.data() + state.offset, text.size() - state.offset, out, room);
            ASSERT_LE(count, room);
            all.insert(all.end(), out, out + count);
            cleave_scan_state in_order = cleave_scan_begin(&dialect);
            cleave_scan_counts counts;
            ASSERT_EQ(cleave_scan(&dialect, &in_order, text.data(), state.offset, &counts), 0);
            expect_same(state, in_order, "state", text);
        }
        EXPECT_EQ(all, (std::vector<std::uint64_t>{0, 3, 5, 7})) << room;
        EXPECT_EQ(state.state, static_cast<std::uint32_t>(CLEAVE_SCAN_RECORD_START));
    }
}

TEST(BoundaryTest, TheEndSaysWhatIsOpen) {
    cleave_scan_dialect dialect = CLEAVE_SCAN_CSV;
    dialect.escape = '\\';
    dialect.terminator = CLEAVE_SCAN_ANY;
    struct Case {
        std::string_view text;
        std::uint64_t records, last, open_quote, ending;
    };
    constexpr std::uint64_t kNone = CLEAVE_SCAN_NONE;
    const Case cases[] = {{"", 0, kNone, kNone, 0},
                          {"a\n", 0, kNone, kNone, 0},
                          {"a\nb", 1, 3, kNone, CLEAVE_SCAN_UNTERMINATED},
                          {"a\r", 1, 2, kNone, CLEAVE_SCAN_LONE_RETURN},
                          {"\xEF\xBB", 1, 2, kNone, CLEAVE_SCAN_UNTERMINATED},
                          {"a,\"b", 1, 4, 2, CLEAVE_SCAN_UNTERMINATED | CLEAVE_SCAN_OPEN_QUOTE},
                          {"a,\"\"", 1, 4, kNone, CLEAVE_SCAN_UNTERMINATED},
                          {"a\\", 1, 2, kNone, CLEAVE_SCAN_UNTERMINATED | CLEAVE_SCAN_OPEN_ESCAPE}};
    for (const Case& one : cases) {
        cleave_scan_state state = cleave_scan_begin(&dialect);
        cleave_scan_counts counts{};
        ASSERT_EQ(cleave_scan(&dialect, &state, one.text.data(), one.text.size(), &counts), 0);
        ASSERT_EQ(cleave_scan_end(&dialect, &state, &counts), 0);
        EXPECT_EQ(counts.records, one.records) << shown(one.text);
        EXPECT_EQ(counts.last, one.last) << shown(one.text);
        EXPECT_EQ(counts.open_quote, one.open_quote) << shown(one.text);
        EXPECT_EQ(counts.ending, one.ending) << shown(one.text);
    }
}

// Whatever arrives over a wire is refused or used, and read no further than it is long.
TEST(BoundaryTest, WhatIsNotValidIsRefused) {
    const cleave_scan_dialect csv = CLEAVE_SCAN_CSV;
    EXPECT_EQ(cleave_scan_fault(&csv), nullptr);
    for (const auto& break_it : std::vector<void (*)(cleave_scan_dialect&)>{
             [](cleave_scan_dialect& d) { d.quote = ','; }, [](cleave_scan_dialect& d) { d.quote = 256; },
             [](cleave_scan_dialect& d) { d.escape = -2; }, [](cleave_scan_dialect& d) { d.escape = '"'; },
             [](cleave_scan_dialect& d) { d.delimiter = '\n'; }, [](cleave_scan_dialect& d) { d.terminator = 3; },
             [](cleave_scan_dialect& d) { d.quoting = 2; }, [](cleave_scan_dialect& d) { d.escape_scope = 2; }}) {
        cleave_scan_dialect dialect = csv;
        break_it(dialect);
        EXPECT_NE(cleave_scan_fault(&dialect), nullptr);
        cleave_scan_state state = cleave_scan_begin(&dialect);
        cleave_scan_counts counts;
        cleave_scan_summary summary;
        EXPECT_EQ(cleave_scan(&dialect, &state, "a", 1, &counts), CLEAVE_SCAN_INVALID);
        EXPECT_EQ(cleave_scan_end(&dialect, &state, &counts), CLEAVE_SCAN_INVALID);
        EXPECT_EQ(cleave_scan_starts(&dialect, &state, "a", 1, nullptr, 0), SIZE_MAX);
        EXPECT_EQ(cleave_summarise(&dialect, 0, "a", 1, &summary), CLEAVE_SCAN_INVALID);
    }
    cleave_scan_counts counts;
    for (const cleave_scan_state& state : {cleave_scan_state{2, CLEAVE_SCAN_START, 0, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_START, 1, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_RECORD_START, 0, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_MARK_2, 1, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_RETURN, 9, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_ESCAPE, 9, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_IN_QUOTES, 9, 9},
                                           {1, CLEAVE_SCAN_UNQUOTED, 9, 8},
                                           {1, CLEAVE_SCAN_UNQUOTED, std::uint64_t{1} << 59, CLEAVE_SCAN_NONE},
                                           {1, CLEAVE_SCAN_STATES, 9, CLEAVE_SCAN_NONE}}) {
        cleave_scan_state copy = state;
        EXPECT_EQ(cleave_scan(&csv, &copy, "a", 1, &counts), CLEAVE_SCAN_INVALID) << state.state;
        EXPECT_EQ(std::memcmp(&copy, &state, sizeof copy), 0);
    }
    Random random(1);
    cleave_scan_summary first;
    cleave_scan_summary second;
    ASSERT_EQ(cleave_summarise(&csv, 0, "a\nb", 3, &first), 0);
    ASSERT_EQ(cleave_summarise(&csv, 4, "c\n", 2, &second), 0);
    cleave_scan_summary both;
    EXPECT_EQ(cleave_compose(&first, &second, &both), CLEAVE_SCAN_INVALID) << "a byte is missing";
    ASSERT_EQ(cleave_summarise(&csv, 3, "c\n", 2, &second), 0);
    for (unsigned round = 0; round < 20000; ++round) {
        cleave_scan_summary damaged[] = {first, second};
        auto* bytes = reinterpret_cast<unsigned char*>(&damaged);
        for (std::size_t i = 1 + random.below(3); i > 0; --i) {
            bytes[random.below(sizeof damaged)] =
                static_cast<unsigned char>(random.chance(50) ? random.below(16) : random.below(256));
        }
        cleave_scan_state state = cleave_scan_begin(&csv);
        cleave_scan_range range;
        if (cleave_compose(&damaged[0], &damaged[1], &both) == 0) cleave_resolve(&both, &state, &range);
        cleave_scan(&damaged[0].dialect, &state, "\"a\n", 3, &counts);
    }
}

}  // namespace cleave::test::boundary_test
