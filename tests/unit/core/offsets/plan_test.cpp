// Policies: a file and a stream have the same plan, and it obeys the limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "plan_check.h"

namespace cleave::test::plan_test {

// Whether a text is so long that tiny blocks and parts would take seconds.
bool is_long(const std::string& text) { return text.size() > 8 * kSniffSize; }

std::vector<std::size_t> random_sizes(const std::string& text, Random& random) {
    std::vector<std::size_t> sizes(300);
    const std::size_t largest = is_long(text) ? 30'000 : random.chance(50) ? 300 : 20;
    for (std::size_t& size : sizes) size = 1 + random.below(largest);
    sizes.push_back(4096);
    return sizes;
}

Execution random_machine(const std::string& text, Random& random) {
    constexpr std::size_t kBlockSizes[] = {1, 64, 100, 4096, 1 << 20};
    const std::size_t from = is_long(text) ? 3 : 0;
    return {nullptr, static_cast<unsigned>(1 + random.below(2)), kBlockSizes[from + random.below(5 - from)]};
}

void expect_plan(const std::string& text, const Dialect& dialect, const Policy& policy, Random& random) {
    SCOPED_TRACE(testing::Message() << describe(policy) << "; " << describe(dialect) << "; "
                                    << (text.size() > 2000 ? "a long text" : shown(text)));
    const PlanCheck check(text, dialect, policy);
    if (!check.has_plan()) {
        check.expect_refusal();
        return;
    }
    const Plan plan = plan_of_bytes(text, dialect, random_machine(text, random), policy);
    check.expect_limits(plan);
    expect_same(plan_of_stream(text, dialect, policy, random_sizes(text, random)), plan);
}

TEST(Limits, AreObeyedAndUsedUp) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            std::string text = random_text(random, dialect, random.below(600));
            if (random.chance(10)) text = "\xEF\xBB\xBF" + text;
            expect_plan(text, dialect, random_limits(random, 700), random);
        }
    }
}

// After the first 64 KiB, which arrive together, the stream arrives in parts.
TEST(Limits, HoldWhereverAStreamIsDivided) {
    for (std::uint64_t seed = 0; seed < rounds(12); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            const std::size_t first = kSniffSize - random.below(200);
            // Either many records, or one that fills the first part.
            const std::string head =
                random.chance(50) ? random_csv(random, dialect, first, 0) : std::string(first, 'a') + "\n";
            expect_plan(head + random_text(random, dialect, 6000), dialect, random_limits(random, 70000), random);
        }
    }
}

// Limits at which a record ends exactly, and limits a byte away.
TEST(Limits, AtTheByte) {
    Random random(1);
    const std::string text =
        "h,h\n"
        "aa\n"
        "bbbb\n"
        "c\n"
        "\"d\nd\"\n"
        "e";
    for (const HeaderMode header : kHeaderModes) {
        for (std::uint64_t size = 1; size <= text.size() + 2; ++size) {
            Policy policy;
            policy.max_bytes = size;
            policy.header = header;
            expect_plan(text, Dialect{}, policy, random);
            for (std::uint64_t records = 1; records <= 7; ++records) {
                policy.records = records;
                expect_plan(text, Dialect{}, policy, random);
            }
        }
    }
}

TEST(Limits, OfAlmostNothing) {
    Random random(1);
    for (const HeaderMode header : kHeaderModes) {
        for (const std::string text : {"", "a", "\n", "a\n", "a\nb", "\n\n", "\"", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n"}) {
            Policy policy;
            policy.header = header;
            policy.records = 1;
            expect_plan(text, Dialect{}, policy, random);
            policy.max_bytes = 1;
            expect_plan(text, Dialect{}, policy, random);
            policy.records.reset();
            expect_plan(text, Dialect{}, policy, random);
        }
    }
}

TEST(Limits, HeaderLargerThanTheLimit) {
    Random random(1);
    const std::string text = std::string(100, 'h') + "\na\nb\n\nc\n";
    for (const HeaderMode header : kHeaderModes) {
        for (const std::uint64_t size : {1U, 50U, 100U, 101U, 102U, 103U}) {
            Policy policy;
            policy.max_bytes = size;
            policy.header = header;
            expect_plan(text, Dialect{}, policy, random);
        }
    }
    Policy policy;
    policy.max_bytes = 100;
    EXPECT_THROW(plan_of_bytes(text, Dialect{}, Execution{}, policy), HeaderSizeError);
    // A header that fills the size leaves no room for a record.
    policy.max_bytes = 101;
    const Plan plan = plan_of_bytes(text, Dialect{}, Execution{}, policy);
    ASSERT_EQ(plan.pieces.size(), 4U);
    for (const Piece& piece : plan.pieces) {
        EXPECT_EQ(piece.records, 1U);
        EXPECT_TRUE(piece.oversize);
    }
}

// This is true even if the text consists only of empty records.
TEST(Headers, BeginWithTheEmptyRecordsBeforeThem) {
    Random random(1);
    for (const std::string& empty : empty_starts()) {
        for (const std::string rest : {"", "a,b", "a,b\n1,2\r\n\r\n3,4\r5,6\n", "\"a\nb\",c\n1,2\n", "\"\"\n\n1\n"}) {
            for (Dialect dialect : every_dialect()) {
                if (kSanitized && !random.chance(20)) continue;
                dialect.header = random.chance(20) ? HeaderRecord::kFirst : HeaderRecord::kFirstNotEmpty;
                for (const HeaderMode header : kHeaderModes) {
                    Policy policy;
                    policy.header = header;
                    policy.pieces = 1 + random.below(4);
                    const std::string text = empty + rest;
                    const Plan shares = plan_of_bytes(text, dialect, random_machine(text, random), policy);
                    PlanCheck(text, dialect, policy).expect_shares(shares);
                    policy.pieces.reset();
                    policy.records = 1 + random.below(2);
                    expect_plan(text, dialect, policy, random);
                }
            }
        }
    }
}

// Worked out by hand, so that the test states the rule a second time.
TEST(Headers, AreTheFirstRecordThatIsNotEmpty) {
    const auto header_size = [](const std::string& text, HeaderRecord rule) {
        Dialect dialect;
        dialect.header = rule;
        Policy policy;
        policy.records = 1;
        const std::uint64_t size = plan_of_bytes(text, dialect, Execution{}, policy).header_size;
        EXPECT_EQ(plan_of_stream(text, dialect, policy, {1}).header_size, size) << shown(text);
        return size;
    };
    EXPECT_EQ(header_size("\n\r\na,b\n1,2\n", HeaderRecord::kFirstNotEmpty), 7U);
    EXPECT_EQ(header_size("\xEF\xBB\xBF\na,b\n1,2\n", HeaderRecord::kFirstNotEmpty), 8U);
    EXPECT_EQ(header_size("\n\n\n", HeaderRecord::kFirstNotEmpty), 1U);
    EXPECT_EQ(header_size("\n \n1\n", HeaderRecord::kFirstNotEmpty), 3U);
    EXPECT_EQ(header_size("\n\r\na,b\n1,2\n", HeaderRecord::kFirst), 1U);
    EXPECT_EQ(header_size("\xEF\xBB\xBF\na,b\n1,2\n", HeaderRecord::kNone), 0U);
}

TEST(Headers, AfterMegabytesOfEmptyRecordsInAStream) {
    Random random(1);
    for (const std::string header : {"a,b\n1\n2\n", ""}) {
        Policy policy;
        policy.records = header.empty() ? 1000000 : 1;
        expect_plan(std::string(3 << 20, '\n') + header, Dialect{}, policy, random);
    }
}

// Data that exceeds the memory limit waits for the piece that it belongs to.
TEST(Limits, RecordsOfMegabytesInAStream) {
    Random random(1);
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    std::string text = "id,text\n";
    const auto add_records = [&](std::size_t size) { text += random_csv(random, Dialect{}, size, 0) + "\"\"\n\n"; };
    const auto add_long_record = [&](std::size_t size) { text += "7,\"" + std::string(size, '\n') + "\"\n"; };
    add_records(kMiB + kMiB / 2);
    add_long_record(3 * kMiB);
    add_records(kMiB / 2);
    add_long_record(2 * kMiB);
    add_long_record(5 * kMiB);
    add_long_record(2 * kMiB);
    add_records(1000);
    for (const std::size_t size : {4 * kMiB, 5 * kMiB, 3 * kMiB - 100, std::size_t{20000}}) {
        Policy policy;
        policy.max_bytes = size;
        if (!is_thorough() && size != 4 * kMiB) continue;
        if (!kSanitized) expect_plan(text, Dialect{}, policy, random);
        policy.records = 10000;
        policy.header = HeaderMode::kNone;
        expect_plan(text, Dialect{}, policy, random);
    }
}

TEST(Limits, HeaderOfMegabytesInAStream) {
    Random random(1);
    const std::string text = "\"" + std::string(3 << 20, '\n') + "\"\na\nb\nc\n";
    for (const HeaderMode header : kHeaderModes) {
        Policy policy;
        policy.records = 2;
        policy.header = header;
        expect_plan(text, Dialect{}, policy, random);
    }
}

TEST(Shares, StartAtTheFirstBoundaryAfterTheirPart) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& unled : every_dialect_and_rule()) {
            const Dialect dialect = led_at_random(unled, random);
            Policy policy;
            policy.header = kHeaderModes[random.below(4)];
            policy.pieces = 1 + random.below(random.chance(50) ? 10 : 700);
            std::string text = random_text(random, dialect, random.below(600));
            if (random.chance(10)) text = "\xEF\xBB\xBF" + text;
            SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << describe(policy) << "; " << describe(dialect)
                                            << "; " << shown(text));
            const Plan plan = plan_of_bytes(text, dialect, random_machine(text, random), policy);
            PlanCheck(text, dialect, policy).expect_shares(plan);
            expect_single_pieces(plan, text, dialect, policy);
            if (!text.empty()) expect_same(plan_in_order(text, dialect, policy), plan);
        }
    }
}

// Whether the records fit, in order, into `pieces` pieces of at most `limit` bytes. The first piece begins with
// `header` bytes.
bool fits(const std::vector<std::uint64_t>& records, std::uint64_t header, std::uint64_t pieces, std::uint64_t limit) {
    std::uint64_t filled = header;
    for (const std::uint64_t record : records) {
        if (filled + record > limit) {
            --pieces;
            filled = 0;
        }
        if (filled + record > limit || pieces == 0) return false;
        filled += record;
    }
    return header <= limit;
}

// This check knows nothing about shares: no choice of other boundaries makes the largest piece smaller by more than a
// record.
TEST(Shares, AreAsEvenAsRecordsAllow) {
    for (std::uint64_t seed = 0; seed < rounds(2000); ++seed) {
        Random random(seed);
        const std::uint64_t header = 2 + random.below(random.chance(50) ? 10 : 2000);
        std::vector<std::uint64_t> records(random.below(80));
        for (std::uint64_t& record : records) record = 1 + random.below(random.chance(3) ? 3000 : 60);
        Policy policy;
        policy.header = kHeaderModes[random.below(3)];
        policy.pieces = 1 + random.below(20);
        std::string text = std::string(header - 1, 'h') + "\n";
        for (const std::uint64_t record : records) text += std::string(record - 1, 'r') + "\n";
        SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << describe(policy));

        const Plan plan = plan_of_bytes(text, Dialect{}, Execution{}, policy);
        ASSERT_EQ(plan.header_size, header);
        const auto header_in = [&](std::uint64_t number) { return header_size_in(policy.header, number, header); };
        std::uint64_t largest = 0;
        for (const Piece& piece : plan.pieces) {
            largest =
                std::max(largest, piece.length + (policy.header == HeaderMode::kFirst ? header_in(piece.number) : 0));
        }
        const std::uint64_t counted = policy.header == HeaderMode::kFirst ? header : 0;
        std::uint64_t best = 0;
        while (!fits(records, counted, *policy.pieces, best)) ++best;
        const std::uint64_t longest = records.empty() ? 0 : *std::ranges::max_element(records);
        EXPECT_LE(largest, best + longest);
    }
}

TEST(Shares, OfEqualRecords) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            Policy policy;
            policy.header = kHeaderModes[random.below(4)];
            policy.pieces = 1 + random.below(random.chance(50) ? 10 : 700);
            policy.balance = Balance::kRecords;
            const std::string text = random_text(random, dialect, random.below(600));
            SCOPED_TRACE(testing::Message() << "seed " << seed << "; " << describe(policy) << "; " << describe(dialect)
                                            << "; " << shown(text));
            const Plan plan = plan_of_bytes(text, dialect, random_machine(text, random), policy);
            PlanCheck(text, dialect, policy).expect_equal_records(plan);
            expect_single_pieces(plan, text, dialect, policy);
        }
    }
    Policy policy;
    policy.records = 1;
    policy.balance = Balance::kRecords;
    const RecordIndex index(bytes_of("a\nb\n"), Dialect{}, Execution{});
    EXPECT_THROW(header_size(index, policy), std::invalid_argument);
    policy.records.reset();
    policy.pieces = 1;
    policy.alignment = kCloneAlignment;
    EXPECT_THROW(header_size(index, policy), std::invalid_argument);
}

// A 6500-byte header and 60 records of 503 bytes each: each piece but the first has a fifth of all bytes.
TEST(Shares, WithALongHeaderInTheFirstPiece) {
    std::string text = std::string(6499, 'h') + "\n";
    for (unsigned i = 0; i < 60; ++i) text += std::string(502, 'r') + "\n";
    Policy policy;
    policy.header = HeaderMode::kFirst;
    policy.pieces = 5;
    std::vector<std::uint64_t> sizes;
    for (const Piece& piece : plan_of_bytes(text, Dialect{}, Execution{}, policy).pieces) {
        sizes.push_back(piece.length + header_size_in(policy.header, piece.number, 6500));
    }
    EXPECT_EQ(*std::ranges::max_element(sizes), 7545U);
}

TEST(Shares, OfAlmostNothing) {
    for (const HeaderMode header : kHeaderModes) {
        for (const std::string text : {"", "a", "\n", "a\nb\n", "a\nb\nc\nd\n"}) {
            for (const std::uint64_t pieces : {1U, 2U, 3U, 4U, 5U, 9U}) {
                Policy policy;
                policy.header = header;
                policy.pieces = pieces;
                PlanCheck(text, Dialect{}, policy).expect_shares(plan_of_bytes(text, Dialect{}, Execution{}, policy));
            }
        }
    }
}

// A few of 10^18 pieces: anything that costs time per piece would never end.
TEST(Plans, OnePieceOfVeryMany) {
    const RecordIndex index(bytes_of("h\na\nb\n"), Dialect{}, Execution{});
    Policy policy;
    policy.pieces = 1'000'000'000'000'000'000;
    // The share grows by a byte at every quarter of the pieces: the first record is in the last piece that starts with
    // it.
    const std::uint64_t quarter = *policy.pieces / 4;
    EXPECT_EQ(plan_piece(index, policy, 1), (Piece{1, 2, 0, 1, 0, false}));
    EXPECT_EQ(plan_piece(index, policy, quarter), (Piece{quarter, 2, 2, 1, 1, false}));
    EXPECT_EQ(plan_piece(index, policy, quarter + 1), (Piece{quarter + 1, 4, 0, 2, 0, false}));
    EXPECT_EQ(plan_piece(index, policy, 3 * quarter), (Piece{3 * quarter, 4, 2, 2, 1, false}));
    EXPECT_EQ(plan_piece(index, policy, *policy.pieces), (Piece{*policy.pieces, 6, 0, 3, 0, false}));
    EXPECT_THROW(plan_piece(index, policy, 0), std::invalid_argument);
    EXPECT_THROW(plan_piece(index, policy, *policy.pieces + 1), std::invalid_argument);
    policy.pieces.reset();
    policy.records = 1;
    EXPECT_THROW(plan_piece(index, policy, 1), std::invalid_argument);
}

// Files large enough for several threads, and more pieces than are found at once.
TEST(Plans, AreTheSameByAnyNumberOfThreads) {
    const std::size_t size = std::size_t{kSanitized ? 1 : 8} << 19;
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        const std::vector<Dialect> dialects = every_dialect_and_rule();
        const Dialect dialect = dialects[random.below(dialects.size())];
        std::string text = random_csv(random, dialect, size, 1);
        if (random.chance(50)) text.insert(text.size() / 3, size / 4, 'x');  // a record in which many shares end
        const RecordIndex by_three(bytes_of(text), dialect, {nullptr, 3, std::size_t{1} << 16});
        const RecordIndex by_one(bytes_of(text), dialect, {nullptr, 1});
        std::vector<Policy> policies;
        for (const std::uint64_t count :
             {std::uint64_t{1}, 2 + random.below(20), 3000 + random.below(3000), std::uint64_t{65'536}}) {
            Policy policy;
            policy.header = kHeaderModes[random.below(4)];
            policy.pieces = count;
            policies.push_back(policy);
            policy.balance = Balance::kRecords;
            policies.push_back(policy);
            policy = {};
            policy.header = kHeaderModes[random.below(4)];
            policy.records = count;
            policies.push_back(policy);
        }
        for (const Policy& policy : policies) {
            SCOPED_TRACE(testing::Message()
                         << "seed " << seed << "; " << describe(policy) << "; " << describe(dialect));
            const Plan plan = plan_of_index(by_three, policy);
            expect_same(plan_of_index(by_one, policy), plan);
            const PlanCheck check(text, dialect, policy);
            if (policy.records) {
                check.expect_limits(plan);
            } else if (policy.balance == Balance::kRecords) {
                check.expect_equal_records(plan);
            } else {
                check.expect_shares(plan);
            }
        }
    }
}

TEST(Plans, StopAtWhatTheCallerThrows) {
    const RecordIndex index(bytes_of("a\nb\nc\nd\n"), Dialect{}, Execution{});
    Policy policy;
    policy.records = 1;
    unsigned calls = 0;
    const auto refuse_second = [&](const Piece&) {
        if (++calls == 2) throw std::runtime_error("enough");
    };
    EXPECT_THROW(plan_pieces(index, policy, refuse_second), std::runtime_error);
    EXPECT_EQ(calls, 2U);
}

TEST(Plans, SayWhereHeadersGo) {
    EXPECT_EQ(header_size_in(HeaderMode::kRepeat, 1, 7), 7U);
    EXPECT_EQ(header_size_in(HeaderMode::kRepeat, 2, 7), 7U);
    EXPECT_EQ(header_size_in(HeaderMode::kFirst, 1, 7), 7U);
    EXPECT_EQ(header_size_in(HeaderMode::kFirst, 2, 7), 0U);
    EXPECT_EQ(header_size_in(HeaderMode::kDrop, 1, 7), 0U);
    EXPECT_EQ(header_size_in(HeaderMode::kNone, 1, 0), 0U);
}

}  // namespace cleave::test::plan_test
