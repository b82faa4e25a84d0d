#include "examine_check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "inputs.h"

namespace cleave::test {
namespace {

// Whether a multi-byte character may be cut in two, so that an excerpt leaves it out. The reference cuts anywhere.
bool may_cut_character(std::string_view text, std::uint64_t offset) {
    const auto is_byte = [&](std::uint64_t at, unsigned least, unsigned most) {
        const unsigned byte = at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
        return byte >= least && byte <= most;
    };
    if (offset > Excerpt::kReach && is_byte(offset - Excerpt::kReach, 0x80, 0xBF)) return true;
    const std::uint64_t end = offset + Excerpt::kReach;
    return is_byte(end - 3, 0x80, 0xFF) || is_byte(end - 2, 0x80, 0xFF) || is_byte(end - 1, 0x80, 0xFF);
}

void expect_tally(const char* name, const Tally& tally, const Tally& expected) {
    EXPECT_EQ(tally.count, expected.count) << name;
    ASSERT_EQ(tally.first.has_value(), expected.first.has_value()) << name;
    if (!tally.first) return;
    EXPECT_EQ(tally.first->offset, expected.first->offset) << name;
    EXPECT_EQ(tally.first->record, expected.first->record) << name;
}

}  // namespace

void ExaminationCheck::expect(const Examination& examination) const {
    const RecordIndex index(bytes_of(text_), dialect_, Execution{});
    EXPECT_EQ(examination.findings.size, text_.size());
    EXPECT_EQ(examination.findings.records, reading_.starts.size());
    EXPECT_EQ(examination.findings.header_records, header_records(text_, dialect_));
    EXPECT_EQ(examination.findings.open_quote, reading_.open_quote());
    EXPECT_EQ(examination.findings.divergence, index.findings().divergence);
    EXPECT_EQ(examination.fields, expected_.fields);
    EXPECT_EQ(examination.header, expected_.header);
    const std::string head(examination.head.begin(), examination.head.end());
    const std::string start = text_.substr(0, Examination::kMaxHeadSize);
    const auto [place, size] = expected_.header;
    EXPECT_EQ(head, place.offset < start.size() ? start.substr(place.offset, size) : "");
    expect_census(examination.census);
    expect_excerpt("open quote", examination.open_quote, examination.findings.open_quote);
    expect_excerpt("divergence", examination.divergence, examination.findings.divergence);
    expect_excerpt("stray quote", examination.stray_quote, examination.census.stray_quotes.first);
    expect_excerpt("ragged", examination.ragged, examination.census.ragged.first);
}

void ExaminationCheck::expect_census(const Census& census) const {
    const Census& expected = expected_.census;
    EXPECT_EQ(census.records, expected.records);
    EXPECT_EQ(census.terminators.lf, expected.terminators.lf);
    EXPECT_EQ(census.terminators.crlf, expected.terminators.crlf);
    EXPECT_EQ(census.terminators.cr, expected.terminators.cr);
    EXPECT_EQ(census.terminators.none, expected.terminators.none);
    EXPECT_EQ(census.data_breaks, expected.data_breaks);
    EXPECT_EQ(census.quoted_breaks, expected.quoted_breaks);
    EXPECT_EQ(census.longest.start, expected.longest.start);
    EXPECT_EQ(census.longest.size, expected.longest.size);
    expect_tally("empty", census.empty, expected.empty);
    expect_tally("marks", census.marks, expected.marks);
    expect_tally("not UTF-8", census.not_utf8, expected.not_utf8);
    expect_tally("NULs", census.nuls, expected.nuls);
    expect_tally("stray quotes", census.stray_quotes, expected.stray_quotes);
    expect_tally("ragged", census.ragged, expected.ragged);
    EXPECT_EQ(census.ragged.fields, expected.ragged.fields);
    EXPECT_EQ(census.ragged.listed.size(), expected.ragged.listed.size());
    EXPECT_EQ(census.ragged.listed, expected.ragged.listed);
    EXPECT_EQ(census, expected);
}

void ExaminationCheck::expect_excerpt(const char* name, const std::optional<Excerpt>& excerpt,
                                      const std::optional<Place>& place) const {
    ASSERT_EQ(excerpt.has_value(), place.has_value()) << name;
    if (!place) return;
    if (may_cut_character(text_, place->offset)) {
        const std::uint64_t before = std::min<std::uint64_t>(place->offset, Excerpt::kReach);
        const std::string around = text_.substr(place->offset - before, before + Excerpt::kReach);
        EXPECT_LE(excerpt->caret, excerpt->text.size()) << name;
        EXPECT_NE(around.find(excerpt->text), std::string::npos) << name;
        return;
    }
    const Excerpt expected = excerpt_by_rules(text_, place->offset);
    EXPECT_EQ(shown(excerpt->text), shown(expected.text)) << name;
    EXPECT_EQ(excerpt->caret, expected.caret) << name;
    EXPECT_EQ(excerpt->is_cut_before, expected.is_cut_before) << name;
    EXPECT_EQ(excerpt->is_cut_after, expected.is_cut_after) << name;
}

}  // namespace cleave::test
