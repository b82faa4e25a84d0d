// Policy::together: compares plans with the plans of a reader that reads every record one byte at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/memory.h"
#include "keyed_reference.h"
#include "plan_check.h"

namespace cleave::test::together_test {

// Makes plans as the manual says, one record after another.
class Planner {
public:
    Planner(const Keyed& keyed, const Policy& policy)
        : keyed_(keyed), policy_(policy), header_(keyed.begins[keyed.body]) {}

    // `even` is the plan of the same policy without `together`. Not for policies with an alignment.
    std::vector<Piece> shares(const std::vector<Piece>& even) {
        std::size_t from = keyed_.body;
        for (std::size_t i = 1; i <= even.size(); ++i) {
            const std::size_t to =
                i == even.size() ? keyed_.count() : keyed_.change_after(keyed_.record_at(even[i].start));
            add(from, to);
            from = to;
        }
        return pieces_;
    }

    std::vector<Piece> limits() {
        const std::size_t count = keyed_.count();
        std::size_t from = keyed_.body;
        if (from == count && header_size_in(policy_.header, 1, header_) > 0) add(from, from);
        while (from < count) {
            const std::size_t to = end_of(from);
            add(from, to);
            from = to;
        }
        return pieces_;
    }

private:
    std::uint64_t cap() const {
        const std::uint64_t header = header_size_in(policy_.header, pieces_.size() + 1, header_);
        if (!policy_.max_bytes) return UINT64_MAX;
        return *policy_.max_bytes > header ? *policy_.max_bytes - header : 0;
    }

    void add(std::size_t from, std::size_t to) {
        const std::uint64_t length = keyed_.begins[to] - keyed_.begins[from];
        const bool oversize = !policy_.pieces && (length > cap() || (policy_.records && to - from > *policy_.records));
        pieces_.push_back(
            {pieces_.size() + 1, keyed_.begins[from], length, from - keyed_.body + 1, to - from, oversize});
    }

    bool is_aligned(std::size_t record, std::uint64_t number) const {
        const std::uint64_t header = header_size_in(policy_.header, number, header_);
        return record < keyed_.count() && keyed_.begins[record] % policy_.alignment == header % policy_.alignment;
    }

    std::size_t end_of(std::size_t from) const {
        const auto fits = [&](std::size_t to) { return keyed_.begins[to] - keyed_.begins[from] <= cap(); };
        const std::size_t count = keyed_.count();
        std::size_t limit = from + 1;
        const auto within_records = [&](std::size_t to) { return !policy_.records || to - from <= *policy_.records; };
        while (limit < count && fits(limit + 1) && within_records(limit + 1)) ++limit;
        if (limit == count) return count;
        const bool is_by_size = !fits(limit + 1);
        if (is_by_size && policy_.alignment != 0) {
            for (std::size_t to = limit; to > from; --to) {
                const std::uint64_t length = keyed_.begins[to] - keyed_.begins[from];
                const bool is_near = length <= cap() && length + *policy_.max_bytes / 100 >= cap();
                if (is_near && is_aligned(to, pieces_.size() + 2) && keyed_.is_change(to)) return to;
            }
        }
        for (std::size_t to = limit; to > from; --to) {
            if (keyed_.is_change(to)) return to;
        }
        return keyed_.change_after(limit);
    }

    const Keyed& keyed_;
    const Policy& policy_;
    std::uint64_t header_;
    std::vector<Piece> pieces_;
};

Policy of_column(std::size_t column) {
    Policy policy;
    policy.together.emplace();
    policy.together->column = {"#" + std::to_string(column + 1), "--together"};
    policy.together->is_delimiter_given = policy.together->is_header_given = true;
    policy.together->accepts_missing = true;
    return policy;
}

Execution random_machine(Random& random) {
    constexpr std::size_t kBlockSizes[] = {1, 64, 100, 4096, 1 << 20};
    return {nullptr, static_cast<unsigned>(1 + random.below(2)), kBlockSizes[random.below(5)]};
}

void expect_plan(const std::string& text, const Dialect& dialect, std::size_t column, const Policy& policy,
                 const Execution& execution) {
    const Keyed keyed = read_keys(text, dialect, column, policy.header);
    if (!PlanCheck(text, dialect, policy).has_plan()) return;
    Policy even = policy;
    even.together.reset();
    Planner planner(keyed, policy);
    Plan expected;
    expected.header_size = keyed.begins[keyed.body];
    expected.pieces =
        policy.pieces ? planner.shares(plan_of_bytes(text, dialect, execution, even).pieces) : planner.limits();
    const Plan plan = plan_of_bytes(text, dialect, execution, policy);
    expect_same(plan, expected);
    if (policy.pieces) expect_single_pieces(plan, text, dialect, policy);

    Policy strict = policy;
    strict.together->accepts_missing = false;
    try {
        expect_same(plan_of_bytes(text, dialect, execution, strict), expected);
    } catch (const InputError& error) {
        ASSERT_TRUE(error.place());
        const Place& place = *error.place();
        ASSERT_LT(place.record, keyed.count());
        EXPECT_TRUE(keyed.lacks[place.record]);
        const std::uint64_t begin = keyed.begins[place.record];
        EXPECT_EQ(place.offset, begin == 0 && text.starts_with("\xEF\xBB\xBF") ? 3 : begin);
    }
}

Policy random_policy(Random& random, std::size_t column, std::size_t size) {
    Policy policy = of_column(column);
    policy.header = kHeaderModes[random.below(4)];
    switch (random.below(4)) {
        case 0: policy.pieces = 1 + random.below(random.chance(80) ? 10 : 200); break;
        case 1:
            policy.pieces = 1 + random.below(10);
            policy.balance = Balance::kRecords;
            break;
        default: {
            const Policy limits = random_limits(random, size);
            policy.records = limits.records;
            policy.max_bytes = limits.max_bytes;
            if (policy.max_bytes && random.chance(30)) policy.alignment = 1 + random.below(8);
        }
    }
    return policy;
}

TEST(Together, IsWhatAReaderOfEveryRecordFinds) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::size_t column = random.below(3);
            const std::string text = random_runs(random, dialect, column, 100 + random.below(1500));
            const Policy policy = random_policy(random, column, text.size());
            SCOPED_TRACE(testing::Message() << "seed " << seed << "; column " << column << "; " << describe(policy)
                                            << "; " << describe(dialect) << "; " << shown(text));
            try {
                expect_plan(text, dialect, column, policy, random_machine(random));
            } catch (const RuleError& error) {  // the first record is too short
                EXPECT_GT(column, 0U) << error.what();
            }
        }
        if (testing::Test::HasFailure()) break;
    }
}

// Runs whose records have fields of 20 KiB and 400 KiB, before and after the value.
TEST(Together, RunsAndRecordsLargerThanWhatIsReadAtATime) {
    Random random(1);
    std::string text = "id,k,note\n";
    for (const std::size_t records :
         {1U, 3000U, 40U, 2U, 1U, kSanitized ? 20000U : 90000U, 5U, kSanitized ? 50000U : 250000U, 1U, 1U}) {
        const std::string key = "k" + std::to_string(text.size() % 7) + std::string(random.below(20), 'k');
        for (std::size_t i = 0; i < records; ++i) {
            const bool is_large = records < 100 && random.chance(20);
            const std::string large(is_large ? random.chance(50) ? 20'000 : 400'000 : 3,
                                    random.chance(50) ? ',' : '\n');
            const std::string written = random.chance(50) ? key : "\"" + key + "\"";
            text +=
                random.chance(50) ? "\"" + large + "\"," + written + ",n\n" : "1," + written + ",\"" + large + "\"\n";
        }
    }
    Dialect dialect;
    for (const std::size_t block_size : {std::size_t{4096}, std::size_t{1} << 20}) {
        for (unsigned i = 0; i < rounds(30); ++i) {
            Policy policy = of_column(1);
            policy.together->column.text = "k";
            policy.header = kHeaderModes[random.below(3)];
            switch (i % 3) {
                case 0: policy.pieces = 1 + random.below(100); break;
                case 1: policy.max_bytes = 20 + random.below(text.size()); break;
                default: policy.records = 1 + random.below(random.chance(50) ? 100 : 50000);
            }
            SCOPED_TRACE(testing::Message() << describe(policy) << "; blocks of " << block_size);
            expect_plan(text, dialect, 1, policy, {nullptr, 2, block_size});
        }
    }
}

// Only the beginning of a large record is read, up to and including the value. The first 256 KiB end at each byte of
// the values in turn. The values differ only in their last byte.
TEST(Together, AKeyAcrossTheEndOfWhatIsReadOfARecord) {
    constexpr std::size_t kPart = std::size_t{256} << 10;
    const std::string key = "the-same-beginning-";
    for (const bool is_quoted : {false, true}) {
        const std::string quote(is_quoted ? 1 : 0, '"');
        for (std::size_t before = kPart - key.size() - 6; before <= kPart + 2; before += stride(1, 7)) {
            const std::string start = std::string(before - 1, 'x') + "," + quote + key;
            std::string text = "a,k,z\n";
            for (const char* last : {"1", "1", "2", "1"}) text += start + last + quote + ",z\n";
            Policy policy = of_column(1);
            policy.records = 1;
            SCOPED_TRACE(testing::Message() << before << " bytes before the key" << quote);
            expect_plan(text, {}, 1, policy, {});
            if (testing::Test::HasFailure()) return;
        }
    }
}

// A run that several threads search at once. Only what comes before the change counts.
TEST(Together, AFaultIsSeenBeforeTheChangeAndNotBehindIt) {
    constexpr std::size_t kRun = 400'000;
    constexpr std::size_t kSize = 4;  // of a record
    Policy policy = of_column(1);
    policy.together->accepts_missing = false;
    policy.pieces = 30;
    for (const std::size_t lacking : {kRun - 1000, kRun + 1, kRun + 300'000}) {
        std::string text = "a,k\n";
        for (std::size_t i = 0; i < 2 * kRun; ++i) text += i == lacking ? "123\n" : i < kRun ? "1,a\n" : "1,b\n";
        const RecordIndex index(bytes_of(text), Dialect{}, {nullptr, 3, std::size_t{1} << 16});
        if (lacking > kRun) {
            EXPECT_EQ(plan_piece(index, policy, 2).start, kSize * (kRun + 1));
            continue;
        }
        try {
            plan_piece(index, policy, 2);
            ADD_FAILURE() << "the record " << lacking << " was not missed";
        } catch (const InputError& error) {
            EXPECT_EQ(error.place(), (Place{kSize * (lacking + 1), lacking + 1}));
        }
    }
}

// One of 10^18 pieces: anything that costs time per piece would never end.
TEST(Together, OnePieceOfVeryMany) {
    const RecordIndex index(bytes_of("k\na\na\nb\n"), Dialect{}, Execution{});
    Policy policy = of_column(0);
    policy.pieces = 1'000'000'000'000'000'000;
    const std::uint64_t third = *policy.pieces / 3;
    EXPECT_EQ(plan_piece(index, policy, 1), (Piece{1, 2, 0, 1, 0, false}));
    EXPECT_EQ(plan_piece(index, policy, third), (Piece{third, 6, 0, 3, 0, false}));
    EXPECT_EQ(plan_piece(index, policy, *policy.pieces), (Piece{*policy.pieces, 8, 0, 4, 0, false}));
}

// The first aligned start within the window, if it is a change; otherwise the first change, aligned or not.
TEST(Together, AlignedSharesAreChanges) {
    // 4,000 records of 15 bytes each, three to a run.
    std::string text;
    for (std::size_t i = 0; i < 4000; ++i) text += "k" + std::to_string(1000 + i / 3) + ",fillfill\n";
    ASSERT_EQ(text.size(), 4000U * 15);
    Policy policy = of_column(0);
    policy.header = HeaderMode::kNone;
    policy.pieces = 7;
    policy.alignment = 30;  // every second record
    const std::vector<Piece> pieces = plan_of_bytes(text, Dialect{}, Execution{}, policy).pieces;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        // A run begins every 45 bytes, and every second run begins on the grid. The window is 1 % of a share: 85 bytes.
        const std::uint64_t target = text.size() * i / 7;
        const std::uint64_t window = text.size() / 7 / 100;
        std::uint64_t expected = (target + 89) / 90 * 90;
        if (expected > target + window) expected = (target + 44) / 45 * 45;
        EXPECT_EQ(pieces[i].start, expected) << i;
    }
    expect_single_pieces({0, pieces}, text, Dialect{}, policy);
}

TEST(Together, RefusesColumnsThatAreNotThere) {
    const auto plan = [](const std::string& text, const std::string& column, HeaderMode header = HeaderMode::kRepeat) {
        Policy policy = of_column(0);
        policy.together->column.text = column;
        policy.header = header;
        policy.records = 1;
        return plan_of_bytes(text, Dialect{}, Execution{}, policy).pieces.size();
    };
    const std::string text = "a,\"b \"\"c\",a\n1,2,3\n";
    EXPECT_EQ(plan(text, "\"b \"\"c\""), 1U);
    EXPECT_EQ(plan(text, "a[2]"), 1U);
    EXPECT_EQ(plan(text, "#3"), 1U);
    EXPECT_EQ(plan(text, "#3", HeaderMode::kNone), 2U);
    for (const char* wrong : {"", "x", "a", "a[3]", "*", "a*", "#1-#2", "#0", "#4", "#1,#2", "!#1", "#1 #2"}) {
        EXPECT_THROW(plan(text, wrong), RuleError) << wrong;
    }
    EXPECT_THROW(plan(text, "a[2]", HeaderMode::kNone), RuleError);
    EXPECT_EQ(plan("", "#1"), 0U) << "no columns, and no records";
    EXPECT_EQ(plan("\n", "x"), 1U) << "an empty header, and no records";
    EXPECT_THROW(plan("", "#1 #2"), RuleError);
    EXPECT_THROW(plan("\n\n", "x"), RuleError) << "an empty record below an empty header";
    EXPECT_EQ(plan("\n\na,\"b\"c\n1,2\n", "bc"), 1U);  // as the dialect reads it, like all records
}

// One such dialect is jsonl. The first record that is not empty defines the columns.
TEST(Together, FindsColumnsWhereTheDialectHasNoHeader) {
    Dialect dialect;
    dialect.header = HeaderRecord::kNone;
    const std::string text = "\na,x\nb,x\nc,y\n";
    Policy policy = of_column(1);
    policy.together->is_header_given = false;
    policy.records = 2;
    expect_plan(text, dialect, 1, policy, Execution{});
    EXPECT_EQ(plan_of_bytes(text, dialect, Execution{}, policy).pieces.size(), 3U);
    policy.together->column.text = "#3";
    EXPECT_THROW(plan_of_bytes(text, dialect, Execution{}, policy), RuleError);
    EXPECT_EQ(plan_of_bytes("", dialect, Execution{}, policy).pieces.size(), 0U);
}

TEST(Together, ValuesLieInMemoryOfTheManager) {
    const auto pool = MemoryManager::open("pool");
    Policy policy = of_column(0);
    policy.records = 1;
    const std::string text = "k\na\na\nb\n";
    EXPECT_EQ(plan_of_bytes(text, Dialect{}, {.memory = pool}, policy).pieces.size(), 2U);
    EXPECT_GT(pool->pool_statistics()->requests, 0U) << "they lie elsewhere";
}

TEST(Together, NeedsAnIndex) {
    Policy policy = of_column(0);
    policy.records = 1;
    EXPECT_TRUE(needs_index(policy));
    EXPECT_TRUE(needs_whole_input(policy));
    EXPECT_THROW(plan_in_order("a\nb\n", Dialect{}, policy), std::invalid_argument);
}

}  // namespace cleave::test::together_test
