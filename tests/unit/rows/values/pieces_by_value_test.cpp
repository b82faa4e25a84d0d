// Compares pieces by value, as ranges of the input, with a reader that reads a text one byte at a time and groups its
// records.
#include "cleave/pieces_by_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "keyed_reference.h"
#include "plan_check.h"

namespace cleave::test::pieces_by_value_test {

using Key = std::vector<std::string>;  // one value per column

// The records with one set of values, in order.
struct Group {
    Key key;
    std::vector<std::size_t> records;  // numbered from 0; the header counts
};

struct Grouped {
    std::vector<std::uint64_t> begins;  // of all records, then the size of the text
    std::size_t body = 0;               // the number of the first record after the header
    std::vector<Group> groups;          // in order of their first records
};

Grouped group(const std::string& text, const Dialect& dialect, const std::vector<std::size_t>& columns,
              HeaderMode header, std::uint64_t limit = UINT64_MAX) {
    Grouped grouped;
    std::vector<Key> keys;
    for (const std::size_t column : columns) {
        const Keyed keyed = read_keys(text, dialect, column, header);
        grouped.begins = keyed.begins;
        grouped.body = keyed.body;
        keys.resize(keyed.count());
        for (std::size_t r = 0; r < keyed.count(); ++r) keys[r].push_back(keyed.values[r]);
    }
    std::map<Key, std::size_t> last_of;
    for (std::size_t r = grouped.body; r < keys.size(); ++r) {
        const auto [found, is_new] = last_of.try_emplace(keys[r], grouped.groups.size());
        if (is_new || grouped.groups[found->second].records.size() == limit) {
            found->second = grouped.groups.size();
            grouped.groups.push_back({keys[r], {}});
        }
        grouped.groups[found->second].records.push_back(r);
    }
    return grouped;
}

Policy policy_by(const std::string& columns, HeaderMode header = HeaderMode::kRepeat) {
    Policy policy;
    policy.header = header;
    policy.by.emplace().columns = {columns, "--by"};
    policy.by->is_delimiter_given = policy.by->is_header_given = true;
    policy.by->accepts_missing = true;
    return policy;
}

RecordIndex index_of(const std::string& text, const Dialect& dialect, const Execution& execution = {}) {
    return {bytes_of(text), dialect, execution};
}

std::string body_of(const PiecesByValue& pieces, std::uint64_t number, const std::string& text) {
    std::string body;
    for (const BlobRange& range : pieces.ranges(number)) body += text.substr(range.offset, range.size);
    return body;
}

// The bodies of all pieces.
std::vector<std::string> bodies(const PiecesByValue& pieces, const std::string& text) {
    std::vector<std::string> all;
    for (const Piece& piece : pieces.pieces()) all.push_back(body_of(pieces, piece.number, text));
    return all;
}

std::vector<Key> keys(const PiecesByValue& pieces) {
    std::vector<Key> all;
    for (const Piece& piece : pieces.pieces()) all.push_back(pieces.values(piece.number));
    return all;
}

// Every byte after the header is in exactly one range. Ranges ascend and consist of whole records.
void expect_union(const PiecesByValue& pieces, const Grouped& expected) {
    std::vector<int> taken(expected.begins.back());
    for (const Piece& piece : pieces.pieces()) {
        std::uint64_t end = 0;
        for (const BlobRange& range : pieces.ranges(piece.number)) {
            EXPECT_GE(range.offset, end);
            EXPECT_GT(range.size, 0U);
            end = range.offset + range.size;
            EXPECT_TRUE(std::ranges::binary_search(expected.begins, range.offset)) << range.offset;
            EXPECT_TRUE(std::ranges::binary_search(expected.begins, end)) << end;
            ASSERT_LE(end, taken.size());
            for (std::uint64_t at = range.offset; at < end; ++at) ++taken[at];
        }
    }
    const auto header_size = static_cast<std::ptrdiff_t>(expected.begins[expected.body]);
    EXPECT_EQ(std::count(taken.begin(), taken.begin() + header_size, 0), header_size);
    EXPECT_EQ(std::count(taken.begin() + header_size, taken.end(), 1), std::ssize(taken) - header_size);
}

void expect_groups(const PiecesByValue& pieces, const Grouped& expected, const std::string& text) {
    EXPECT_EQ(pieces.header_size(), expected.begins[expected.body]);
    ASSERT_EQ(pieces.pieces().size(), expected.groups.size());
    for (std::size_t i = 0; i < expected.groups.size(); ++i) {
        const Group& wanted = expected.groups[i];
        std::string body;
        for (const std::size_t r : wanted.records) {
            body += text.substr(expected.begins[r], expected.begins[r + 1] - expected.begins[r]);
        }
        const Piece& piece = pieces.pieces()[i];
        EXPECT_EQ(piece.number, i + 1);
        EXPECT_EQ(piece.start, expected.begins[wanted.records.front()]);
        EXPECT_EQ(piece.first_record, wanted.records.front() - expected.body + 1);
        EXPECT_EQ(piece.records, wanted.records.size());
        EXPECT_EQ(piece.length, body.size());
        EXPECT_EQ(body_of(pieces, i + 1, text), body) << "piece " << i + 1;
        EXPECT_EQ(pieces.values(i + 1), wanted.key) << "piece " << i + 1;
    }
    expect_union(pieces, expected);
}

// Sometimes includes a quote that is never closed, which turns the rest of the text into one record.
std::string random_records(Random& random, const Dialect& dialect, std::size_t column) {
    std::string text = random_runs(random, dialect, column, 100 + random.below(1500));
    if (!dialect.quote || !(text.ends_with('\n') || text.ends_with('\r')) || random.chance(70)) return text;
    for (std::size_t i = 0; i < column; ++i) text += "x" + std::string(1, static_cast<char>(dialect.delimiter));
    return text + static_cast<char>(*dialect.quote) + "a\nb" + (random.chance(50) ? "\n" : "");
}

TEST(PiecesByValue, AreTheRecordsOfEachValueInOrder) {
    constexpr std::size_t kBlockSizes[] = {1, 64, 100, 1 << 20};
    std::size_t planned = 0;
    for (std::uint64_t seed = 0; seed < rounds(40); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            std::vector<std::size_t> columns{random.below(3)};
            if (random.chance(40)) columns.push_back((columns.front() + 1) % 3);
            const std::string text = random_records(random, dialect, columns.front());
            std::string names;
            for (const std::size_t column : columns) names += (names.empty() ? "#" : ",#") + std::to_string(column + 1);
            Policy policy = policy_by(names, kHeaderModes[random.below(4)]);
            if (random.chance(30)) policy.records = 1 + random.below(5);
            SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << names << "; " << describe(policy) << "; "
                                            << describe(dialect) << "; " << shown(text));
            const Execution execution{nullptr, static_cast<unsigned>(1 + random.below(5)),
                                      kBlockSizes[random.below(4)]};
            const RecordIndex index = index_of(text, dialect, execution);
            try {
                const PiecesByValue pieces(index, policy);
                const std::uint64_t limit = policy.records.value_or(UINT64_MAX);
                expect_groups(pieces, group(text, dialect, columns, policy.header, limit), text);
                ++planned;
            } catch (const RuleError& error) {  // the first record is too short
                EXPECT_GT(*std::ranges::max_element(columns), 0U) << error.what();
            }
        }
        if (testing::Test::HasFailure()) break;
    }
    EXPECT_GT(planned, rounds(40) * every_dialect_and_rule().size() / 2);
}

TEST(PiecesByValue, HaveKeysAsAReaderGetsThem) {
    const std::string text =
        "k,v\n"
        ",1\n"
        "\"two\nlines\",2\n"
        "\"\",\"3\n\"\n"
        "\"a\",4\n"
        "a,5\n"
        "\"a\"\"\",6\n"
        "\"two\nlines\",7";
    const PiecesByValue pieces(index_of(text, Dialect()), policy_by("k"));
    EXPECT_EQ(pieces.header_size(), 4);
    EXPECT_EQ(keys(pieces), (std::vector<Key>{{""}, {"two\nlines"}, {"a"}, {"a\""}}));
    EXPECT_EQ(bodies(pieces, text),
              (std::vector<std::string>{",1\n\"\",\"3\n\"\n", "\"two\nlines\",2\n\"two\nlines\",7", "\"a\",4\na,5\n",
                                        "\"a\"\"\",6\n"}));
    EXPECT_EQ(pieces.pieces()[0].records, 2);
    EXPECT_EQ(pieces.pieces()[3].first_record, 6);
}

TEST(PiecesByValue, TellSeveralColumnsApart) {
    const std::string text = "x,k,l\n1,a,bc\n2,ab,c\n3,a,bc\n4,,abc\n5,abc,\n";
    const PiecesByValue pieces(index_of(text, Dialect()), policy_by("l,k"));
    EXPECT_EQ(keys(pieces), (std::vector<Key>{{"bc", "a"}, {"c", "ab"}, {"abc", ""}, {"", "abc"}}));
    EXPECT_EQ(bodies(pieces, text), (std::vector<std::string>{"1,a,bc\n3,a,bc\n", "2,ab,c\n", "4,,abc\n", "5,abc,\n"}));
}

// The header is in no range in any mode; without a header its record is an ordinary one.
TEST(PiecesByValue, LeaveTheHeaderOut) {
    const std::string text = "\xEF\xBB\xBF\r\nk,v\r\na,1\r\nk,2\r\na,3\r\n";
    for (const HeaderMode header : {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop}) {
        const PiecesByValue pieces(index_of(text, Dialect()), policy_by("k", header));
        EXPECT_EQ(pieces.header_size(), 10);
        EXPECT_EQ(keys(pieces), (std::vector<Key>{{"a"}, {"k"}}));
        EXPECT_EQ(bodies(pieces, text), (std::vector<std::string>{"a,1\r\na,3\r\n", "k,2\r\n"}));
        EXPECT_EQ(pieces.pieces()[0].start, 10);
        EXPECT_EQ(pieces.pieces()[0].first_record, 1);
    }
    const PiecesByValue pieces(index_of(text, Dialect()), policy_by("#1", HeaderMode::kNone));
    EXPECT_EQ(pieces.header_size(), 0);
    EXPECT_EQ(keys(pieces), (std::vector<Key>{{""}, {"k"}, {"a"}}));
    EXPECT_EQ(bodies(pieces, text), (std::vector<std::string>{"\xEF\xBB\xBF\r\n", "k,v\r\nk,2\r\n", "a,1\r\na,3\r\n"}));
}

TEST(PiecesByValue, OfOneValueAreAllRecords) {
    std::string text = "k,v\n";
    for (unsigned i = 0; i < 20'000; ++i) text += (i % 2 == 0 ? "same," : "\"same\",") + std::to_string(i) + "\n";
    for (const unsigned threads : {1U, 3U}) {
        const PiecesByValue pieces(index_of(text, Dialect(), {nullptr, threads, 4096}), policy_by("k"));
        EXPECT_EQ(keys(pieces), (std::vector<Key>{{"same"}}));
        EXPECT_EQ(bodies(pieces, text), std::vector<std::string>{text.substr(4)});
    }
}

// More values than are written while the records are being read, and more ranges than are kept in memory.
TEST(PiecesByValue, OfManyValuesAreTheRecordsOfEach) {
    Random random(1);
    std::string text = "v,k\n";
    for (unsigned i = 0; i < 100'000; ++i) {
        text += std::to_string(i) + ',' + (i % 3 == 0 ? "\"" : "") + std::to_string(random.below(7000)) +
                (i % 3 == 0 ? "\"\n" : "\n");
    }
    const Grouped expected = group(text, Dialect(), {1}, HeaderMode::kRepeat);
    ASSERT_GT(expected.groups.size(), 6900U);
    for (const unsigned threads : {1U, 4U}) {
        const PiecesByValue pieces(index_of(text, Dialect(), {nullptr, threads, 4096}), policy_by("k"));
        expect_groups(pieces, expected, text);
    }
}

TEST(PiecesByValue, TakeAnOpenQuoteAsTheLastRecord) {
    const std::string text = "k,v\na,1\n\"b,2\na,3\n";
    const PiecesByValue pieces(index_of(text, Dialect()), policy_by("k"));
    EXPECT_EQ(bodies(pieces, text), (std::vector<std::string>{"a,1\n", "\"b,2\na,3\n"}));
    EXPECT_EQ(keys(pieces), (std::vector<Key>{{"a"}, {"b,2\na,3\n"}}));
    const PiecesByValue other(index_of(text, Dialect()), policy_by("v"));
    EXPECT_EQ(keys(other), (std::vector<Key>{{"1"}, {""}}));
}

TEST(PiecesByValue, TakeAMissingFieldAsEmptyOrNotAtAll) {
    const std::string text = "k,v\na,1\nb\n\nc,1\nd,\n";
    const PiecesByValue pieces(index_of(text, Dialect()), policy_by("v"));
    EXPECT_EQ(keys(pieces), (std::vector<Key>{{"1"}, {""}}));
    EXPECT_EQ(bodies(pieces, text), (std::vector<std::string>{"a,1\nc,1\n", "b\n\nd,\n"}));
    Policy policy = policy_by("v");
    policy.by->accepts_missing = false;
    try {
        const PiecesByValue none(index_of(text, Dialect()), policy);
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.place(), (Place{8, 2}));
    }
}

TEST(PiecesByValue, OfBucketsHaveNoValuesAndMayBeEmpty) {
    const std::string text = "k,v\na,1\nb,2\na,3\nc,4\n";
    Policy policy = policy_by("k");
    policy.by->buckets = 100;
    const PiecesByValue pieces(index_of(text, Dialect()), policy);
    ASSERT_EQ(pieces.pieces().size(), 100);
    std::uint64_t records = 0;
    for (const Piece& piece : pieces.pieces()) {
        EXPECT_TRUE(pieces.values(piece.number).empty());
        EXPECT_EQ(pieces.ranges(piece.number).empty(), piece.records == 0);
        const std::string body = body_of(pieces, piece.number, text);
        EXPECT_EQ(body.find("a,1\n") == std::string::npos, body.find("a,3\n") == std::string::npos);
        records += piece.records;
    }
    EXPECT_EQ(records, 4);
    expect_union(pieces, group(text, Dialect(), {0}, policy.header));
}

TEST(PiecesByValue, OfPartsKeepTheirOrderAndGrowAtTheirEnds) {
    std::string text = "k,v\n";
    const auto grow = [&text](unsigned from, unsigned to) {
        for (unsigned i = from; i < to; ++i) text += std::to_string(i * 7919 % 500) + ',' + std::to_string(i) + '\n';
    };
    const std::vector<Part> parts = {{"train", 8}, {"valid", 1}, {"test", 1}};
    grow(0, 3000);
    for (const char* columns : {"k", ""}) {
        const Policy policy = Policy::into_parts(parts, columns, 7);
        const std::vector<std::string> before = bodies(PiecesByValue(index_of(text, Dialect()), policy), text);
        ASSERT_EQ(before.size(), 3U);
        for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(before[i].empty());
        const std::string small = text;
        grow(3000, 4000);
        const PiecesByValue grown(index_of(text, Dialect(), {nullptr, 3, 4096}), policy);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_TRUE(grown.values(i + 1).empty());
            EXPECT_TRUE(body_of(grown, i + 1, text).starts_with(before[i])) << columns << i;
        }
        text = small;
    }
}

TEST(PiecesByValue, AreMovedWithTheirRanges) {
    const std::string text = "k\na\nb\na\n";
    PiecesByValue pieces(index_of(text, Dialect()), policy_by("k"));  // the index is gone from here on
    const std::span<const BlobRange> ranges = pieces.ranges(1);
    PiecesByValue moved = std::move(pieces);
    EXPECT_EQ(moved.ranges(1).data(), ranges.data());
    PiecesByValue assigned(index_of("k\nz\n", Dialect()), policy_by("k"));
    assigned = std::move(moved);
    EXPECT_EQ(assigned.ranges(1).data(), ranges.data());
    EXPECT_EQ(bodies(assigned, text), (std::vector<std::string>{"a\na\n", "b\n"}));
    EXPECT_EQ(keys(assigned), (std::vector<Key>{{"a"}, {"b"}}));
}

TEST(PiecesByValue, RefuseNumbersOfNoPiece) {
    const std::string text = "k\na\nb\n";
    const RecordIndex index(bytes_of(text), Dialect(), Execution());
    const PiecesByValue pieces(index, Policy::by_column("k"));
    ASSERT_EQ(pieces.pieces().size(), 2U);
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{3}, UINT64_MAX}) {
        EXPECT_THROW((void)pieces.ranges(number), ArgumentError);
        EXPECT_THROW((void)pieces.values(number), ArgumentError);
    }
}

TEST(PiecesByValue, RefuseOtherPolicies) {
    const std::string text = "k,v\na,1\nb,2\n";
    const RecordIndex index = index_of(text, Dialect());
    Policy policy = policy_by("k");
    policy.by->drops_columns = true;
    EXPECT_THROW(PiecesByValue(index, policy), std::invalid_argument);
    policy = policy_by("k");
    policy.pieces = 2;
    EXPECT_THROW(PiecesByValue(index, policy), std::invalid_argument);
    policy.by.reset();
    EXPECT_THROW(PiecesByValue(index, policy), std::invalid_argument);
    policy = policy_by("k");
    policy.by->max_values = 1;
    EXPECT_THROW(PiecesByValue(index, policy), ValueLimitError);
    EXPECT_THROW(PiecesByValue(index, policy_by("none")), RuleError);
}

}  // namespace cleave::test::pieces_by_value_test
