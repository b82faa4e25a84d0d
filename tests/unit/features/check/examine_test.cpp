// Examines mapped and streamed inputs, and compares the findings with the reference.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cleave/examine.h"
#include "examine_check.h"
#include "features/check/excerpt.h"
#include "inputs.h"
#include "kernels_under_test.h"
#include "mapped_input.h"
#include "pipe_input.h"
#include "temporary_directory.h"

namespace cleave::test::examine_test {

constexpr char kByteOrderMark[] = "\xEF\xBB\xBF";

// What an examination of the input must report.
class ExamineCheck {
public:
    ExamineCheck(std::string text, const Dialect& dialect, std::uint64_t max_listed = kListedRagged)
        : text_(std::move(text)), dialect_(dialect), max_listed_(max_listed), judge_(text_, dialect, max_listed) {}

    void expect_mapped(const Execution& execution) const {
        SCOPED_TRACE(testing::Message() << "mapped, blocks of " << execution.block_size << ", " << execution.threads
                                        << " threads, kernel "
                                        << (execution.kernel == nullptr ? "by default" : unique_name(execution.kernel))
                                        << ", " << shown_text());
        if (!directory_) {
            directory_.emplace();
            directory_->write("in.csv", text_);
        }
        Input input = open_mapped(directory_->path("in.csv"));
        EXPECT_TRUE(input.is_mapped());
        judge_.expect(examine(input, dialect_, execution, max_listed_));
    }

    void expect_streamed(const std::vector<std::size_t>& part_sizes) const {
        SCOPED_TRACE(testing::Message() << "streamed, " << shown_text());
        Pipe pipe(text_, part_sizes);
        Input input = open_mapped(pipe.path());
        ASSERT_FALSE(input.is_mapped());
        judge_.expect(examine(input, dialect_, Execution{}, max_listed_));
    }

private:
    std::string shown_text() const {
        return describe(dialect_) + ", " + (text_.size() > 2000 ? "a long text" : shown(text_));
    }

    mutable std::optional<TemporaryDirectory> directory_;  // set once a file is needed
    std::string text_;
    Dialect dialect_;
    std::uint64_t max_listed_;
    ExaminationCheck judge_;
};

// The sizes of a stream's parts, beginning with those that peek() gathers, which are read together.
std::vector<std::size_t> peeked_sizes() {
    std::vector<std::size_t> sizes(kSniffSize / 4096, 4096);
    return sizes;
}

std::vector<std::size_t> sizes_after_peek(std::size_t size) {
    std::vector<std::size_t> sizes = peeked_sizes();
    sizes.push_back(size);
    return sizes;
}

std::vector<std::size_t> random_sizes(Random& random) {
    std::vector<std::size_t> sizes = peeked_sizes();
    const std::size_t largest = random.chance(30) ? 3 : 200;
    for (std::size_t i = 0; i < 200; ++i) sizes.push_back(1 + random.below(largest));
    sizes.push_back(4096);
    return sizes;
}

TEST(Examine, MappedTextOfEveryDialect) {
    for (std::uint64_t seed = 0; seed < rounds(16); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string mark = random.chance(25) ? kByteOrderMark : "";
            const ExamineCheck check(mark + random_text(random, dialect, random.below(600)), dialect);
            for (const std::size_t block_size : {1U, 3U, 64U, 1U << 20}) check.expect_mapped({nullptr, 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// Every significant byte meets every other.
TEST(Examine, DenseNoise) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::string text = random_noise(random, alphabet_of(dialect), random.below(30));
            if (random.chance(20)) text = kByteOrderMark + text;
            const ExamineCheck check(text, dialect);
            for (const std::size_t block_size : {2U, 1U << 20}) check.expect_mapped({nullptr, 1, block_size});
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

TEST(Examine, TheSameByEveryMachine) {
    for (std::uint64_t seed = 0; seed < rounds(4); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : some_dialects()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const ExamineCheck check(random_text(random, dialect, 20'000), dialect);
            for (const Kernel* kernel : available_kernels()) {
                for (const unsigned threads : {1U, 2U, 5U}) {
                    for (const std::size_t block_size : {100U, 4096U, 1U << 20}) {
                        check.expect_mapped({kernel, threads, block_size});
                    }
                }
            }
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// There are more blocks than chunks.
TEST(Examine, ChunksOfSeveralBlocks) {
    Random random(3);
    const ExamineCheck check(random_csv(random, Dialect{}, 300'000, 1), Dialect{});
    for (const std::size_t block_size : {7U, 64U}) check.expect_mapped({nullptr, 3, block_size});
}

// A chunk has more bytes than are read at once.
TEST(Examine, LongChunks) {
    Random random(4);
    const ExamineCheck check(random_csv(random, Dialect{}, std::size_t{5} << 19, 1), Dialect{});
    check.expect_mapped({nullptr, 2, std::size_t{1} << 22});
}

TEST(Examine, Streams) {
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string mark = random.chance(25) ? kByteOrderMark : "";
            const std::size_t size = random.below(3000);
            // The first part is mostly regular; the parts after it may hold anything.
            const ExamineCheck check(
                mark + random_csv(random, dialect, kSniffSize - 100, 0) + random_text(random, dialect, size), dialect);
            check.expect_streamed(random_sizes(random));
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// A single odd thing in an otherwise sound input, at every offset near the border between two parts. If the parts are
// one byte long, everything that can be noticed late is noticed as late as possible.
TEST(Examine, StreamsWithOneOddThing) {
    std::string sound = "aa,bb\n";
    while (sound.size() < kSniffSize - 8) sound += "aa,bb\n";
    for (const std::string odd :
         {"a,\"b\n", "a\"b,c\n", "\"a\"b,c\n", "\"a\"\r,c\n", "\"a\"\r\"b\",c\n", "a,b,c\n", "a\n", "a\r\n", "\r\n",
          "\r", "\xD0\n", "\xF0\x9F\x98\n", "\r\x80,b\n", "a,\"b\r\nc\"\n", "a\"\n\",\"b\n", "\xEF\xBB\xBF,b\n",
          "\xEF\xBB\xEF\xBB\xBF,\xEF\xBB\n\xBF,b\n"}) {
        for (std::size_t before = 0; before < 12; before += stride(5, 11)) {
            for (const std::size_t after : {0U, 1U, 60U, 61U, 200U}) {
                const std::string text = sound + std::string(before, 'c') + ",d\n" + odd + std::string(after, 'a');
                const ExamineCheck check(text, Dialect{});
                check.expect_streamed(sizes_after_peek(1));
                check.expect_streamed(sizes_after_peek(30));
                if (HasFailure()) FAIL() << shown(odd) << " after " << before << ", before " << after;
            }
        }
    }
}

// Mostly UTF-8 of one size after another, so that many steps are text; bytes that are not, and NULs, at any place.
std::string random_utf8(Random& random, std::size_t size, unsigned percent_odd) {
    const std::string fragments[] = {"ascii, only\n", "\xD0\x96\xD1\x83\xD0\xBA",
                                     "\xE0\xA4\xB9\xED\x9F\xBF\xE2\x82\xAC", "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF",
                                     "\xDF\xBF\xEF\xBF\xBD\xF0\x90\x80\x80x"};
    const std::string odd("\x00\x80\xBF\xC0\xC1\xC2\xDF\xE0\xA0\x9F\xED\xEF\xF0\x90\x8F\xF4\xF5\xFF\r\n", 20);
    std::string text;
    while (text.size() < size) {
        const std::string& fragment = fragments[random.below(std::size(fragments))];
        for (std::size_t left = 1 + random.below(30); left > 0; --left) text += fragment;
        if (!random.chance(percent_odd)) continue;
        for (std::size_t left = 1 + random.below(4); left > 0; --left) text += odd[random.below(odd.size())];
    }
    return text;
}

TEST(Examine, WhatIsNoText) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        const std::string text = random_utf8(random, 1 + random.below(4000), 5 * static_cast<unsigned>(seed % 3));
        Dialect dialect;
        if (seed % 2 == 0) dialect.terminator = Terminator::kAny;
        const ExamineCheck check(text, dialect);
        for (const std::size_t block_size : {3U, 64U, 1U << 20}) check.expect_mapped({nullptr, 2, block_size});
        const ExamineCheck streamed(random_utf8(random, kSniffSize, 0) + text, dialect);
        streamed.expect_streamed(random_sizes(random));
        if (HasFailure()) FAIL() << "see above";
    }
}

// At every offset of a step.
TEST(Examine, CutSequencesBeforeAscii) {
    for (const std::string cut : {"\xD0", "\xE2\x82", "\xF0\x9F\x98", "\xE2"}) {
        for (std::size_t before = 128; before < 192; ++before) {
            const std::string text = std::string(before, 'a') + cut + std::string(200, 'a') + "\n";
            ExamineCheck(text, Dialect{}).expect_mapped({nullptr, 1, 1U << 20});
            if (HasFailure()) FAIL() << shown(cut) << " after " << before;
        }
    }
}

// This is true even if they are spread over many blocks and parts.
TEST(Examine, ListsTheFirstRaggedRecords) {
    for (std::uint64_t seed = 0; seed < rounds(6); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : some_dialects()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::string text = random_text(random, dialect, 1000) + random_text(random, dialect, 1000);
            for (const std::uint64_t max_listed : {std::uint64_t{0}, std::uint64_t{1}, kListedRagged, UINT64_MAX}) {
                const ExamineCheck check(text, dialect, max_listed);
                for (const std::size_t block_size : {3U, 100U, 1U << 20}) check.expect_mapped({nullptr, 2, block_size});
                check.expect_streamed({4096});
            }
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

TEST(Examine, ListsTenRaggedRecordsUnlessToldOtherwise) {
    std::string text = "a,b\n";
    for (int i = 0; i < 25; ++i) text += i % 2 == 0 ? "1\n" : "1,2,3\n";
    const TemporaryDirectory directory;
    Input input = open_mapped(directory.write("in.csv", text));
    const Ragged ten = examine(input, Dialect{}, {nullptr, 2, 7}).census.ragged;
    EXPECT_EQ(ten.count, 25U);
    ASSERT_EQ(ten.listed.size(), 10U);
    EXPECT_EQ(ten.listed[0], (RaggedRecord{{5, 1}, 1}));
    EXPECT_EQ(ten.listed[1], (RaggedRecord{{9, 2}, 3}));
    const Ragged all = examine(input, Dialect{}, {nullptr, 2, 7}, UINT64_MAX).census.ragged;
    EXPECT_EQ(all.count, 25U);
    ASSERT_EQ(all.listed.size(), 25U);
    EXPECT_EQ(all.listed[24], (RaggedRecord{{text.size() - 1, 25}, 1}));
}

TEST(Examine, SamplesOfOneRecordAndLess) {
    for (const std::string_view text : {"", "\n", "a", "\r\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n", "\xEF\xBB", "\"",
                                        "\"\"", "a,b", ",", "\"a\"\r", "\r", "\r\r\n"}) {
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const ExamineCheck check(std::string(text), dialect);
            check.expect_mapped(Execution{});
            check.expect_streamed({4096});
        }
    }
}

// The records after the header have as many fields as the header, and those before it are empty.
TEST(Examine, EmptyRecordsBeforeTheHeader) {
    Random random(1);
    for (const std::string& empty : empty_starts()) {
        for (const std::string rest :
             {"", "a,b", "a,b\n1,2\r\n\r\n1,2,3\r4\n", "\"a\nb\",c\n1,2\n", ",\n1\n", "\"a\n"}) {
            for (Dialect dialect : every_dialect_and_rule()) {
                if (!random.chance(rounds(100))) continue;
                if (random.chance(20)) dialect.header = HeaderRecord::kFirst;
                if (random.chance(20)) dialect.header = HeaderRecord::kNone;
                const ExamineCheck check(empty + rest, dialect);
                check.expect_mapped({nullptr, 2, 1 + random.below(4)});
                check.expect_streamed({4096});
            }
            if (HasFailure()) FAIL() << shown(empty + rest);
        }
    }
    for (const std::size_t size : {kSniffSize - 3, kSniffSize, kSniffSize + 100}) {
        const ExamineCheck check(std::string(size, '\n') + "a,b\n1,2\n3\n", Dialect{});
        check.expect_mapped({nullptr, 2, 4096});
        check.expect_streamed(sizes_after_peek(1));
    }
    // The search for the record that defines the number of fields reads one MiB at a time.
    Dialect dialect;
    dialect.header = HeaderRecord::kNone;
    const ExamineCheck check(std::string((std::size_t{2} << 20) - 2, '\n') + "a,b,c\n1,2\n", dialect);
    check.expect_mapped({nullptr, 2, std::size_t{1} << 20});
}

TEST(Examine, KeepsTheStartOfALongHeader) {
    const ExamineCheck check("a,\"" + std::string(2 * Examination::kMaxHeadSize, 'h') + "\"\n1,2\n", Dialect{});
    check.expect_mapped({nullptr, 2, 4096});
    check.expect_streamed({4096});
}

// What the definitions in examine.h amount to, worked out by hand.
TEST(Examine, CountsWhatPeopleWouldCount) {
    const TemporaryDirectory directory;
    const std::string path = directory.write("in.csv",
                                             "id,note\r\n"          // record 0, 9 bytes
                                             "1,\"x\r\ny\nz\"\r\n"  // record 1 at byte 9: two breaks in quotes
                                             "\r\n"                 // record 2 at byte 21: empty
                                             "2,12\" tv\n"          // record 3 at byte 23: a quote at byte 27
                                             "3\n"                  // record 4 at byte 32: ends at byte 33
                                             "4,\"a\"b,c\n"         // record 5 at byte 34: a quote at 38, a comma at 40
                                             "5,a\rb");             // record 6 at byte 43: a CR
    Input input = open_mapped(path);
    const Examination examination = examine(input, Dialect{}, Execution{});
    const Census& census = examination.census;
    EXPECT_EQ(census.records, 7U);
    EXPECT_EQ(census.terminators, (TerminatorCounts{3, 3, 0, 1}));
    EXPECT_EQ(census.quoted_breaks, 2U);
    EXPECT_EQ(census.data_breaks, 1U);
    EXPECT_EQ(census.longest, (RecordExtent{{9, 1}, 12}));
    EXPECT_EQ(census.empty, (Tally{1, Place{21, 2}}));
    EXPECT_EQ(census.stray_quotes, (Tally{2, Place{27, 3}}));
    EXPECT_EQ(census.ragged.count, 2U);
    EXPECT_EQ(census.ragged.first, (Place{33, 4}));
    EXPECT_EQ(census.ragged.fields, 1U);
    EXPECT_EQ(examination.stray_quote, (Excerpt{"2,12\" tv", 4, false, false}));
    EXPECT_EQ(examination.ragged, (Excerpt{"3", 1, false, false}));
}

Excerpt excerpt_at(std::string_view text, std::size_t at) { return excerpt_of(bytes_of(text), at); }

TEST(Excerpt, LeavesOutHalvesOfCharacters) {
    const std::string letter = "\xC3\xA9";
    const std::string euro = "\xE2\x82\xAC";
    const std::string smile = "\xF0\x9F\x98\x80";
    for (const std::string& character : {letter, euro, smile}) {
        for (std::size_t shift = 0; shift < 4; ++shift) {
            const std::string plain(shift, 'a');
            std::string text;
            while (text.size() < 100) text += character;
            text += plain;
            const std::size_t at = text.size();
            text += 'Q' + plain;
            while (text.size() < 200) text += character;
            const Excerpt excerpt = excerpt_at(text, at);
            EXPECT_TRUE(excerpt.is_cut_before);
            EXPECT_TRUE(excerpt.is_cut_after);
            EXPECT_EQ(excerpt.text[excerpt.caret], 'Q');
            const std::size_t before = (60 - shift) / character.size() * character.size() + shift;
            const std::size_t after = (59 - shift) / character.size() * character.size() + shift;
            EXPECT_EQ(excerpt.caret, before);
            EXPECT_EQ(excerpt.text.size(), before + 1 + after);
            EXPECT_TRUE(excerpt.text.starts_with(character));
            EXPECT_TRUE(excerpt.text.ends_with(character));
        }
    }
}

TEST(Excerpt, KeepsBytesThatAreNoUtf8) {
    EXPECT_EQ(excerpt_at("\xA9\xA9\xE9,x", 3), (Excerpt{"\xA9\xA9\xE9,x", 3, false, false}));
    const std::string latin(200, '\xE4');
    EXPECT_EQ(excerpt_at(latin, 100).text.size(), 60U + 59U);  // the last byte may start a character
}

TEST(Excerpt, EndsWithTheLine) {
    EXPECT_EQ(excerpt_at("a\nbc\rd", 3), (Excerpt{"bc", 1, false, false}));
    EXPECT_EQ(excerpt_at("a\nbc\rd", 4), (Excerpt{"bc", 2, false, false}));
    EXPECT_EQ(excerpt_at("a\nbc\rd", 6), (Excerpt{"d", 1, false, false}));
    EXPECT_EQ(excerpt_at("", 0), (Excerpt{"", 0, false, false}));
}

}  // namespace cleave::test::examine_test
