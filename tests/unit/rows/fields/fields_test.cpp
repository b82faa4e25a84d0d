// Compares FieldReader, on every kernel, with the reference.
#include "cleave/fields.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/kernels/kernel.h"
#include "core/kernels/kernel_list.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"
#include "field_reference.h"
#include "guarded_memory.h"
#include "inputs.h"
#include "kernels_under_test.h"

namespace cleave::test::fields_test {

using namespace std::string_literals;

// Each record as "begin: end end | end of content". If the reading is in doubt, the end of content is left out, because
// content_end() then makes no promise about it.
std::string text_of(const std::vector<ReferenceRecord>& records, bool in_doubt) {
    std::string text;
    for (const ReferenceRecord& record : records) {
        text += std::to_string(record.begin) + ':';
        for (const std::uint32_t end : record.ends) text += ' ' + std::to_string(end);
        if (!in_doubt) text += " | " + std::to_string(record.content_end);
        text += '\n';
    }
    return text;
}

std::vector<ReferenceRecord> records_of(const RecordBlock& block, const Dialect& dialect) {
    std::vector<ReferenceRecord> records;
    for (std::size_t r = 0; r < block.record_count(); ++r) {
        ReferenceRecord record;
        record.begin = block.rows[r].begin;
        for (std::size_t i = block.rows[r].first; i < block.rows[r + 1].first; ++i) {
            record.ends.push_back(block.ends[i]);
        }
        record.content_end = content_end(block.bytes, record.begin, record.ends.back(), dialect);
        records.push_back(std::move(record));
    }
    return records;
}

class FieldsTest : public testing::TestWithParam<const Kernel*> {
protected:
    const Kernel& kernel() const { return *GetParam(); }

    // Reads according to the dialect, then with cleave::Reading::kUnambiguous, which must refuse a text with a fault.
    void expect_as_reference(const Dialect& dialect, std::string_view text) const {
        const FieldReading wanted = read_fields(text, dialect);
        FieldReader by_dialect(dialect, kernel(), cleave::Reading::kByDialect, 0);
        const RecordBlock block = by_dialect.read(bytes_of(text), {}, true);
        const bool in_doubt = wanted.fault.has_value();
        ASSERT_EQ(text_of(records_of(block, dialect), in_doubt), text_of(wanted.records, in_doubt))
            << describe(dialect) << ": " << shown(text);
        ASSERT_EQ(block.bytes.size(), text.size());
        FieldReader strict(dialect, kernel(), cleave::Reading::kUnambiguous, 0);
        try {
            const RecordBlock again = strict.read(bytes_of(text), {}, true);
            ASSERT_EQ(text_of(records_of(again, dialect), false), text_of(wanted.records, false)) << shown(text);
            ASSERT_FALSE(wanted.fault) << describe(dialect) << ": " << shown(text) << " at " << *wanted.fault;
        } catch (const InputError& error) {
            ASSERT_TRUE(wanted.fault) << describe(dialect) << ": " << shown(text) << ": " << error.what();
            ASSERT_EQ(error.place()->offset, *wanted.fault) << describe(dialect) << ": " << shown(text);
            std::uint64_t record = 0;
            while (record + 1 < wanted.records.size() && wanted.records[record + 1].begin <= *wanted.fault) ++record;
            ASSERT_EQ(error.place()->record, record) << describe(dialect) << ": " << shown(text);
        }
    }

    // All strings of up to `length` bytes over the alphabet, following a record that ends `before` bytes into a step.
    void expect_all_short(const Dialect& dialect, std::size_t length, std::size_t before) const {
        const std::string alphabet = alphabet_of(dialect);
        std::string text(before, 'x');
        if (before > 0) text.back() = dialect.terminator == Terminator::kCr ? '\r' : '\n';
        extend(dialect, text, alphabet, length);
    }

private:
    void extend(const Dialect& dialect, std::string& text, std::string_view alphabet, std::size_t length) const {
        expect_as_reference(dialect, text);
        if (length == 0 || HasFatalFailure()) return;
        for (const char byte : alphabet) {
            text.push_back(byte);
            extend(dialect, text, alphabet, length - 1);
            text.pop_back();
        }
    }
};

INSTANTIATE_TEST_SUITE_P(, FieldsTest, testing::ValuesIn(kernels_under_test()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

TEST_P(FieldsTest, ReadsAllShortTextsAsTheReference) {
    for (const Dialect& dialect : some_dialects()) {
        for (const std::size_t before : {0U, 62U}) {
            expect_all_short(dialect, kSanitized ? 3 : 4, before);
            if (HasFatalFailure()) return;
        }
    }
}

TEST_P(FieldsTest, ReadsRandomTextsAsTheReference) {
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            for (std::size_t i = 0; i < 8; ++i) {
                expect_as_reference(dialect, random_text(random, dialect, random.below(500)));
                expect_as_reference(dialect, random_csv(random, dialect, random.below(500), 0));
            }
            if (HasFatalFailure()) return;
        }
    }
}

// Texts long enough for kernels that take many steps at once, with a short text of any kind somewhere in them.
TEST_P(FieldsTest, ReadsLongRandomTextsAsTheReference) {
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::string text = random_csv(random, dialect, 2000 + random.below(3000), 0);
            expect_as_reference(dialect, text);
            if (random.below(2) == 0) {
                text += random_text(random, dialect, random.below(5));
            } else {
                text.insert(random.below(text.size()), random_text(random, dialect, random.below(5)));
            }
            text += random_csv(random, dialect, 2000 + random.below(3000), 0);
            expect_as_reference(dialect, text);
            if (HasFatalFailure()) return;
        }
    }
}

// Anything that readers may disagree about, or that looks like it, placed at the ends of steps.
TEST_P(FieldsTest, FindsFaultsAtTheEndsOfStepsOfLongTexts) {
    for (const Terminator terminator : {Terminator::kLf, Terminator::kCr}) {
        Dialect dialect;
        dialect.terminator = terminator;
        const std::string line_end = terminator == Terminator::kCr ? "\r" : "\n";
        std::string plain;
        while (plain.size() < 2600) plain += "abc,\"d,e\",f" + line_end;
        for (const std::string& odd : {"x\ry"s, "x\r\ny"s, "x\ny"s, "x\"y"s, "\"x\"y"s, R"("x""y")"s, "\"x\"\ry"s}) {
            for (std::size_t end = 64; end < 2300; end += stride(13, 17) * 64) {
                for (const std::size_t size : {end - 3, end - 2, end - 1, end}) {
                    const std::string before = plain.substr(0, plain.rfind(line_end, size - 1)) + line_end;
                    const std::string filled = before + std::string(size - before.size(), 'z');
                    expect_as_reference(dialect, filled + odd + line_end + plain);
                    expect_as_reference(dialect, filled + "," + odd + line_end + plain);
                    if (HasFatalFailure()) return;
                }
            }
        }
    }
}

// Every kernel stops before the step with the lone CR, so that the state machine reads as little as possible.
TEST_P(FieldsTest, StopsBeforeTheStepWithAFault) {
    std::string text;
    while (text.size() < 5000) text += "abc,def\n";
    for (const std::size_t at : {0U, 500U, 2048U, 3001U}) {
        std::string odd = text;
        odd[at] = '\r';
        const Markup markup = markup_of(Dialect());
        std::vector<std::uint32_t> ends(odd.size() + 64);
        std::vector<FieldRow> rows(odd.size() + 64);
        Position position{carry_of(State::kRecordStart), 0, 0, 0};
        FieldList list{ends.data(), rows.data(), 0, 0};
        const auto bytes = bytes_of(odd);
        EXPECT_EQ(kernel().mark_fields[markup.variant](markup, bytes.data(), bytes.size(), position, list),
                  at / kStepSize * kStepSize);
    }
}

// A run that ends inside a record yields the records before it, and no byte past the run is read.
TEST_P(FieldsTest, LeavesOutARecordInProgress) {
    GuardedMemory memory;
    for (std::uint64_t seed = 0; seed < rounds(20); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect()) {
            const std::string text = random_csv(random, dialect, 300, 0);
            const auto all = read_fields(text, dialect).records;
            const std::size_t size = random.below(text.size() + 1);
            const auto bytes = bytes_of(memory.at_back(std::string_view(text).substr(0, size)));
            FieldReader reader(dialect, kernel(), cleave::Reading::kByDialect, 0);
            const RecordBlock block = reader.read(bytes, {}, false);
            const auto found = records_of(block, dialect);
            ASSERT_LE(found.size(), all.size());
            for (std::size_t r = 0; r < found.size(); ++r) {
                ASSERT_EQ(found[r].begin, all[r].begin) << "seed " << seed;
                ASSERT_EQ(found[r].ends, all[r].ends)
                    << "seed " << seed << ", " << describe(dialect) << ": " << shown(text);
            }
            // At most one record is left out, and the end of the one before it if that is uncertain.
            const std::size_t left_out = found.size() < all.size() ? all[found.size()].begin : text.size();
            ASSERT_EQ(block.bytes.size(), left_out);
            if (found.size() + 2 <= all.size()) {
                ASSERT_GE(all[found.size() + 1].begin, size) << "seed " << seed;
            }
        }
    }
}

// Records of `count` fields as a program would write them; at random some fields are long, and some records are.
std::string rectangle(Random& random, const Dialect& dialect, std::size_t count, std::size_t size) {
    const bool is_sparse = random.chance(30);
    std::string text;
    while (text.size() < size) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t length = random.chance(2) ? random.below(900) : random.below(is_sparse ? 2 : 12);
            if (dialect.quote && random.chance(40)) {
                text += static_cast<char>(*dialect.quote);
                for (std::size_t k = 0; k < length; ++k) text += random.one_of("a,;\t\r\n b");
                text += static_cast<char>(*dialect.quote);
            } else {
                text.append(length, 'x');
            }
            if (i + 1 < count) text += static_cast<char>(dialect.delimiter);
        }
        if (dialect.terminator == Terminator::kLf && random.chance(10)) text += '\r';
        text += dialect.terminator == Terminator::kCr ? '\r' : '\n';
    }
    return text;
}

// What a reader finds, with the ends up to the next one that is picked left out; or the fault.
std::string picked_text(FieldReader& reader, std::span<const std::uint8_t> bytes, bool at_end,
                        const std::vector<std::uint32_t>& picks, bool& is_picked) {
    std::string text;
    try {
        const RecordBlock block = reader.read(bytes, {1000, 10}, at_end);
        is_picked = block.is_picked;
        for (std::size_t r = 0; r < block.record_count(); ++r) {
            const std::uint32_t* const ends = block.ends.data() + block.rows[r].first;
            const std::size_t count = block.rows[r + 1].first - block.rows[r].first;
            text += std::to_string(block.rows[r].begin) + ':';
            for (std::size_t i = 0; count > 1 && i < picks.size(); ++i) {
                text += ' ' + std::to_string(ends[is_picked ? i : picks[i]]);
            }
            text += " | " + std::to_string(ends[count - 1]) + '\n';
        }
        return text + std::to_string(block.bytes.size());
    } catch (const InputError& error) {
        return std::string(error.what()) + ' ' + std::to_string(error.place()->offset) + ' ' +
               std::to_string(error.place()->record);
    }
}

// With all ends and with some, a reader finds the same, whatever is wrong with the bytes.
TEST_P(FieldsTest, FindsTheSameEndsIfOnlySomeMatter) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect));
            const std::size_t count = 4 + random.below(random.chance(50) ? 10 : 120);
            std::vector<std::uint32_t> picks;
            for (std::uint32_t i = 0; i + 1 < count && 2 * (picks.size() + 2) <= count; ++i) {
                if (random.below(count - i) < 2) picks.push_back(i);
            }
            if (picks.empty()) picks.push_back(static_cast<std::uint32_t>(random.below(count - 1)));
            std::string text = rectangle(random, dialect, count, 1024 + random.below(6000));
            const bool is_sound = random.chance(50);
            if (!is_sound) text.insert(random.below(text.size()), random_text(random, dialect, 1 + random.below(4)));
            if (!is_sound && random.chance(20)) text.resize(text.size() - random.below(20));
            const bool at_end = random.chance(70);
            FieldReader some(dialect, kernel(), cleave::Reading::kUnambiguous, count);
            some.pick(picks);
            FieldReader all(dialect, kernel(), cleave::Reading::kUnambiguous, count);
            bool is_picked = false;
            bool is_all_picked = false;
            const std::string found = picked_text(some, bytes_of(text), at_end, picks, is_picked);
            ASSERT_EQ(found, picked_text(all, bytes_of(text), at_end, picks, is_all_picked)) << shown(text);
            ASSERT_FALSE(is_all_picked);
            if (!is_sound) continue;
            const bool can_pick = deposits_fast() && kernel().pick_fields[markup_of(dialect).variant] != nullptr;
            ASSERT_EQ(is_picked, can_pick) << shown(text);
            if (!is_picked) continue;
            const auto wanted = read_fields(text, dialect).records;
            const RecordBlock block = some.read(bytes_of(text), {}, at_end);
            ASSERT_EQ(block.record_count(), wanted.size());
            for (std::size_t r = 0; r < wanted.size(); ++r) {
                for (std::size_t i = 0; i < picks.size(); ++i) {
                    ASSERT_EQ(block.ends[block.rows[r].first + i], wanted[r].ends[picks[i]]) << shown(text);
                }
            }
        }
    }
}

// The same from a kernel itself, for runs of any size.
TEST_P(FieldsTest, ListsTheEndsThatAreAskedFor) {
    const Dialect dialect;
    const Markup markup = markup_of(dialect);
    const auto pick_fields = kernel().pick_fields[markup.variant];
    for (std::uint64_t seed = 0; pick_fields != nullptr && seed < rounds(200); ++seed) {
        Random random(seed);
        const auto count = static_cast<std::uint32_t>(2 + random.below(90));
        const std::string text = rectangle(random, dialect, count, 1 + random.below(3000));
        const auto bytes = bytes_of(text);
        for (const std::uint32_t given : {count, count + 1}) {
            const std::size_t number = random.below(given - 1);
            std::vector<PickWindow> windows(given);
            std::vector<PickCounts> counts;
            for (std::uint32_t n = 0, picked = 0; n < given + 64; ++n) {
                counts.push_back({picked, n % given});
                picked += n % given == number || n % given == given - 1 ? 1 : 0;
                for (std::uint32_t i = 0; n < given && i < 64; ++i) {
                    const std::uint64_t is_last = (n + i) % given == given - 1 ? 1 : 0;
                    const std::uint64_t is_picked = (n + i) % given == number ? 1 : is_last;
                    windows[n].picked |= is_picked << i;
                    windows[n].is_last |= is_last << i;
                }
            }
            std::vector<std::uint32_t> ends(text.size() + 64);
            FieldList list{ends.data(), nullptr, 0, 0, windows.data(), counts.data()};
            Position position{carry_of(State::kRecordStart), 0, 0, 0};
            ASSERT_EQ(pick_fields(markup, bytes.data(), bytes.size(), position, list), text.size());
            ASSERT_EQ(list.is_uneven, given != count) << "seed " << seed;
            if (list.is_uneven) continue;
            const auto wanted = read_fields(text, dialect).records;
            ASSERT_EQ(list.end_count, 2 * wanted.size());
            for (std::size_t r = 0; r < wanted.size(); ++r) {
                ASSERT_EQ(ends[2 * r], wanted[r].ends[number]) << "seed " << seed;
                ASSERT_EQ(ends[2 * r + 1], wanted[r].ends.back()) << "seed " << seed;
            }
        }
    }
}

TEST_P(FieldsTest, RefusesAnotherNumberOfFields) {
    const Dialect dialect;
    FieldReader reader(dialect, kernel(), cleave::Reading::kUnambiguous, 3);
    const std::string good = "a,b,c\n\n1,\"2,\n\",3\r\n\r\n,,\n";
    EXPECT_EQ(reader.read(bytes_of(good), {}, true).record_count(), 5U);
    for (const char* bad : {"1,2\n", "1,2,3,4\n", "1\n", "\"\"\n", "1,2,3,\n"}) {
        const std::string text = good + bad + good;
        try {
            reader.read(bytes_of(text), {1000, 10}, true);
            FAIL() << bad;
        } catch (const InputError& error) {
            EXPECT_EQ(error.place(), (Place{1000 + good.size(), 15})) << bad;
        }
    }
}

// All short fields of quotes, escapes, CRs and text, including malformed ones, before CRLF.
TEST_P(FieldsTest, EndWhereTheTerminatorBegins) {
    for (const Dialect& dialect : every_dialect_and_rule()) {
        const char parts[] = {static_cast<char>(dialect.quote.value_or('y')),
                              static_cast<char>(dialect.escape.value_or('z')), '\r', 'x'};
        FieldReader reader(dialect, kernel(), cleave::Reading::kByDialect, 0);
        for (unsigned number = 0; number < 4 * 4 * 4 * 4 * 4; ++number) {
            std::string text;
            for (unsigned rest = number; text.size() < 5; rest /= 4) text += parts[rest % 4];
            text += "\r\n1,2\n";
            const RecordBlock block = reader.read(bytes_of(text), {}, true);
            const ReferenceRecord wanted = read_fields(text, dialect).records.front();
            const std::uint32_t end = block.ends[block.rows[1].first - 1];
            ASSERT_EQ(content_end(block.bytes, block.rows[0].begin, end, dialect), wanted.content_end)
                << describe(dialect) << ": " << shown(text);
        }
    }
}

}  // namespace cleave::test::fields_test
