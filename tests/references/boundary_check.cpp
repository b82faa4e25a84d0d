#include "boundary_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/scan/boundary.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "reference.h"

namespace cleave::test {
namespace {

// A reader and all that it has been told.
struct Scanned {
    cleave_scan_state state;
    std::uint64_t records = 0;
    std::uint64_t last = CLEAVE_SCAN_NONE;
    cleave_scan_counts counts{};

    void scan(const Kernel& kernel, const cleave_scan_dialect& dialect, std::string_view part) {
        EXPECT_EQ(scan_bytes(kernel, dialect, state, bytes_of(part), counts), 0);
        records += counts.records;
        EXPECT_EQ(counts.last != CLEAVE_SCAN_NONE, counts.records > 0);
        if (counts.records > 0) last = counts.last;
    }
};

Scanned scanned_by(const cleave_scan_dialect& dialect) { return {.state = cleave_scan_begin(&dialect)}; }

std::string text_of(const Scanned& reader) {
    std::string text;
    for (const std::uint64_t number :
         {std::uint64_t{reader.state.version}, std::uint64_t{reader.state.state}, reader.state.offset,
          reader.state.open_quote, reader.records, reader.last, reader.counts.open_quote, reader.counts.ending}) {
        text += std::to_string(number) + ' ';
    }
    return text;
}

void expect_same(const Scanned& found, const Scanned& wanted, std::size_t cut) {
    if (std::memcmp(&found, &wanted, sizeof found) == 0) return;
    EXPECT_EQ(text_of(found), text_of(wanted)) << "cut at " << cut;
}

cleave_scan_summary composed(const cleave_scan_summary& a, const cleave_scan_summary& b) {
    cleave_scan_summary both;
    EXPECT_EQ(cleave_compose(&a, &b, &both), 0);
    return both;
}

std::string text_of(const cleave_scan_row& row) {
    return std::to_string(row.records) + " " + std::to_string(row.first) + " " + std::to_string(row.last) + " " +
           std::to_string(row.open_quote) + " " + std::to_string(row.state);
}

template <class What>
void expect_same(const cleave_scan_summary& found, const cleave_scan_summary& wanted, const What& what) {
    if (std::memcmp(&found, &wanted, sizeof found) == 0) return;
    ADD_FAILURE() << what;
    for (std::size_t i = 0; i < CLEAVE_SCAN_STATES; ++i) {
        EXPECT_EQ(text_of(found.rows[i]), text_of(wanted.rows[i])) << what << ", row " << i;
    }
}

}  // namespace

cleave_scan_dialect plain_dialect(const Dialect& dialect) {
    return {static_cast<std::int16_t>(dialect.quote ? int{*dialect.quote} : -1),
            static_cast<std::int16_t>(dialect.escape ? int{*dialect.escape} : -1),
            dialect.delimiter,
            static_cast<std::uint8_t>(dialect.terminator),
            static_cast<std::uint8_t>(dialect.quoting),
            static_cast<std::uint8_t>(dialect.escape_scope)};
}

cleave_scan_summary summary_of(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                               std::uint64_t begin) {
    cleave_scan_summary summary;
    EXPECT_EQ(summarise_bytes(kernel, plain_dialect(dialect), begin, bytes_of(text), summary), 0);
    return summary;
}

void expect_same_in_parts(const Kernel& kernel, const Dialect& dialect, std::string_view text) {
    const cleave_scan_dialect plain = plain_dialect(dialect);
    const cleave_scan_summary summary = summary_of(kernel, dialect, text, 0);
    Scanned whole = scanned_by(plain);
    whole.scan(kernel, plain, text);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        Scanned first = scanned_by(plain);
        first.scan(kernel, plain, text.substr(0, cut));
        const cleave_scan_summary a = summary_of(kernel, dialect, text.substr(0, cut), 0);
        for (std::size_t other = cut; other <= text.size(); ++other) {
            Scanned third = first;
            third.scan(kernel, plain, text.substr(cut, other - cut));
            third.scan(kernel, plain, text.substr(other));
            expect_same(third, whole, other);
            const cleave_scan_summary b = summary_of(kernel, dialect, text.substr(cut, other - cut), cut);
            const cleave_scan_summary c = summary_of(kernel, dialect, text.substr(other), other);
            expect_same(composed(composed(a, b), c), summary, other);
            expect_same(composed(a, composed(b, c)), summary, other);
        }
    }
}

void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                         const std::vector<std::size_t>& cuts) {
    const cleave_scan_dialect plain = plain_dialect(dialect);
    const Reading reading = read_by_rules(text, dialect);
    const auto open = reading.open_quote();
    Random random(text.size());
    Scanned in_order = scanned_by(plain);
    cleave_scan_state by_starts = cleave_scan_begin(&plain);
    std::vector<std::uint64_t> starts;
    std::vector<cleave_scan_summary> summaries;
    for (std::size_t i = 0, begin = 0; i <= cuts.size(); ++i) {
        const std::size_t end = i < cuts.size() ? cuts[i] : text.size();
        const std::string_view part = text.substr(begin, end - begin);
        in_order.scan(kernel, plain, part);
        summaries.push_back(summary_of(kernel, dialect, part, begin));
        while (by_starts.offset < end) {
            std::vector<std::uint64_t> out(random.chance(50) ? 1 + random.below(3) : 1 + random.below(2000));
            const auto rest = bytes_of(text.substr(static_cast<std::size_t>(by_starts.offset),
                                                   end - static_cast<std::size_t>(by_starts.offset)));
            out.resize(find_starts(kernel, plain, by_starts, rest, out));
            starts.insert(starts.end(), out.begin(), out.end());
        }
        begin = end;
    }
    EXPECT_EQ(starts, reading.starts) << unique_name(&kernel);
    EXPECT_EQ(std::memcmp(&by_starts, &in_order.state, sizeof by_starts), 0) << unique_name(&kernel);

    // Readers of ranges find what the reader in order has found.
    cleave_scan_state state = cleave_scan_begin(&plain);
    for (const cleave_scan_summary& summary : summaries) {
        cleave_scan_range range;
        EXPECT_EQ(cleave_resolve(&summary, &state, &range), 0);
        const auto from = std::ranges::lower_bound(reading.starts, summary.begin);
        const auto to = std::ranges::lower_bound(reading.starts, summary.end);
        EXPECT_EQ(range.records, static_cast<std::uint64_t>(to - from)) << unique_name(&kernel);
        EXPECT_EQ(range.first, from == to ? CLEAVE_SCAN_NONE : *from) << unique_name(&kernel);
        EXPECT_EQ(range.last, from == to ? CLEAVE_SCAN_NONE : *(to - 1)) << unique_name(&kernel);
    }
    EXPECT_EQ(std::memcmp(&state, &in_order.state, sizeof state), 0) << unique_name(&kernel);
    while (summaries.size() > 1) {
        const std::size_t at = random.below(summaries.size() - 1);
        EXPECT_EQ(cleave_compose(&summaries[at], &summaries[at + 1], &summaries[at]), 0);
        summaries.erase(summaries.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    expect_same(summaries.front(), summary_of(kernel, dialect, text, 0), unique_name(&kernel));

    // The end.
    cleave_scan_counts counts;
    EXPECT_EQ(cleave_scan_end(&plain, &state, &counts), 0);
    EXPECT_EQ(in_order.records + counts.records, reading.starts.size()) << unique_name(&kernel);
    EXPECT_EQ(counts.open_quote, open ? open->offset : CLEAVE_SCAN_NONE) << unique_name(&kernel);
    if (counts.records == 0) {
        EXPECT_EQ(in_order.last, text.empty() ? CLEAVE_SCAN_NONE : text.size()) << unique_name(&kernel);
    } else if (in_order.records > 0) {
        EXPECT_EQ(in_order.last, reading.starts.back()) << unique_name(&kernel);
    }
}

}  // namespace cleave::test
