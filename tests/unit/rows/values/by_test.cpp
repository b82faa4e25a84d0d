// Compares plans for pieces by value with the plans of a reader that reads every record one byte at a time.
#define XXH_INLINE_ALL
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <string>
#include <vector>

#include "by_check.h"
#include "cleave/memory.h"
#include "keyed_reference.h"
#include "plan_check.h"
#include "rows/values/plan_by_value.h"

namespace cleave::test::by_test {

std::string name_of(const std::vector<std::size_t>& columns) {
    std::string name;
    for (const std::size_t column : columns) name += (name.empty() ? "#" : " , #") + std::to_string(column + 1);
    return name;
}

Policy policy_by(const std::vector<std::size_t>& columns) {
    Policy policy;
    policy.by.emplace();
    policy.by->columns = {name_of(columns), "--by"};
    policy.by->is_delimiter_given = policy.by->is_header_given = true;
    policy.by->accepts_missing = true;
    return policy;
}

PlanByValue plan_of(const RecordIndex& index, const Policy& policy) { return {index, policy}; }

RecordIndex index_of(const std::string& text, const Dialect& dialect, const Execution& execution) {
    return {std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), dialect, execution};
}

// Regrouping moves the parts but does not change them.
void expect_regrouped(Random& random, const RecordIndex& index, PlanByValue& plan) {
    std::vector<std::uint8_t> buffer;
    const auto bytes_of = [&](const Blob& blob, std::uint64_t number) {
        std::string bytes;
        for (const BlobRange& part : plan.parts(number)) {
            const auto lent = blob.lend(part.offset, part.size, buffer);
            bytes.append(lent.begin(), lent.end());
        }
        return bytes;
    };
    std::vector<std::string> before;
    std::uint64_t size = 0;
    for (const Piece& piece : plan.pieces()) {
        before.push_back(bytes_of(index.blob(), piece.number));
        size += piece.length;
    }
    TemporaryBlob blob;
    const PlanByValue::Regrouping sizes{1 + random.below(1000), 1 + random.below(300)};
    plan.regroup(plan.pieces(), index.blob(), blob, sizes, nullptr);
    blob.finish();
    EXPECT_LE(blob.blob().size(), plan.header_size() + size);
    for (const Piece& piece : plan.pieces()) {
        EXPECT_EQ(bytes_of(blob.blob(), piece.number), before[piece.number - 1]) << piece.number;
    }
}

Execution random_machine(Random& random) {
    constexpr std::size_t kBlockSizes[] = {1, 64, 100, 4096, 1 << 20};
    return {nullptr, static_cast<unsigned>(1 + random.below(8)), kBlockSizes[random.below(5)]};
}

std::vector<Part> random_parts(Random& random) {
    constexpr std::uint64_t kWeights[] = {1, 2, 3, 10, 80, 1'000'000'007, std::uint64_t{1} << 60};
    std::vector<Part> parts;
    for (std::size_t i = 1 + random.below(8); i > 0; --i) {
        parts.push_back({std::to_string(i), kWeights[random.below(std::size(kWeights))]});
    }
    return parts;
}

Policy random_policy(Random& random, const std::vector<std::size_t>& columns, std::size_t size) {
    Policy policy = policy_by(columns);
    policy.header = kHeaderModes[random.below(4)];
    if (random.chance(30)) policy.by->seed = random.below(1000);
    switch (random.below(4)) {
        case 0: policy.by->buckets = 1 + random.below(20); break;
        case 2:
            policy.by->parts = random_parts(random);
            if (random.chance(40)) policy.by->columns.text.clear();
            break;
        case 1: {
            const Policy limits = random_limits(random, size);
            policy.records = limits.records;
            policy.max_bytes = limits.max_bytes;
            break;
        }
        default: break;
    }
    return policy;
}

void expect_stop(const RecordIndex& index, const Policy& policy, const KeyedRecords& all, const Stop& stop) {
    try {
        const PlanByValue plan = plan_of(index, policy);
        ADD_FAILURE() << "no fault";
    } catch (const ValueLimitError& error) {
        EXPECT_FALSE(stop.is_missing);
        EXPECT_EQ(error.max_values(), policy.by->max_values);
    } catch (const InputError& error) {
        EXPECT_TRUE(stop.is_missing);
        ASSERT_TRUE(error.place());
        EXPECT_EQ(error.place()->record, stop.record);
        const std::uint64_t begin = all.begins[stop.record];
        EXPECT_EQ(error.place()->offset, begin == 0 ? index.lead().size : begin);
    }
}

TEST(By, IsWhatAReaderOfEveryRecordFinds) {
    for (std::uint64_t seed = 0; seed < rounds(60); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            std::vector<std::size_t> columns{random.below(3)};
            if (random.chance(30)) columns.push_back((columns.front() + 1) % 3);
            const std::string text = random_runs(random, dialect, columns.front(), 100 + random.below(1500));
            Policy policy = random_policy(random, columns, text.size());
            if (random.chance(50)) policy.by->accepts_missing = false;
            if (random.chance(50)) policy.by->max_values = 1 + random.below(8);
            SCOPED_TRACE(testing::Message()
                         << "seed " << seed << "; columns " << name_of(columns) << "; buckets "
                         << policy.by->buckets.value_or(0) << "; parts " << policy.by->parts.size()
                         << (policy.by->columns.text.empty() ? " drawn" : "") << "; keys " << policy.by->max_values
                         << "; " << describe(policy) << "; " << describe(dialect) << "; " << shown(text));
            if (!PlanCheck(text, dialect, policy).has_plan()) continue;
            const KeyedRecords all = read_records(text, dialect, columns, policy.header);
            const Execution machine = random_machine(random);
            const RecordIndex index = index_of(text, dialect, machine);
            try {
                if (const auto stop = first_stop(all, *policy.by)) {
                    expect_stop(index, policy, all, *stop);
                    continue;
                }
                PlanByValue plan = plan_of(index, policy);
                const std::vector<ExpectedPiece> expected = expected_pieces(text, all, policy);
                ASSERT_TRUE(plan.can_scatter() || expected.size() > 100);
                if (plan.can_scatter()) {
                    expect_scattered(text, plan, expected, policy.header);
                    plan.list_parts();
                    ASSERT_FALSE(plan.can_scatter());
                }
                expect_plan(text, plan, expected, policy, all.begins[all.body]);
                expect_regrouped(random, index, plan);
            } catch (const RuleError& error) {  // the first record is too short
                EXPECT_GT(*std::ranges::max_element(columns), 0U) << error.what();
            }
        }
        if (testing::Test::HasFailure()) break;
    }
}

TEST(By, BucketsAreThoseOfTheHashThatThePageNames) {
    // From the documentation of xxHash: XXH3_64bits of the empty string and of "abc".
    EXPECT_EQ(XXH3_64bits("", 0), 0x2D06800538D394C2U);
    EXPECT_EQ(XXH3_64bits("abc", 3), 0x78AF5F94892F3950U);
    const std::string text = "\nabc\n";
    Policy policy = policy_by({0});
    policy.header = HeaderMode::kNone;
    policy.by->buckets = 65'521;
    const RecordIndex index = index_of(text, Dialect(), {});
    policy.by->columns.text = "#1";
    const PlanByValue plan = plan_of(index, policy);
    ASSERT_EQ(plan.pieces().size(), 65'521U);
    EXPECT_EQ(plan.pieces()[0x2D06800538D394C2U % 65'521].records, 1U);
    EXPECT_EQ(plan.pieces()[0x78AF5F94892F3950U % 65'521].records, 1U);
}

TEST(By, PartsAreThoseOfTheHashThatThePageNames) {
    // The hashes of "abc" and of the empty string, see above, are 0.471 and 0.176 of 2^64.
    const std::string text = "\nabc\n";
    Policy policy = policy_by({0});
    policy.header = HeaderMode::kNone;
    const RecordIndex index = index_of(text, Dialect(), {});
    const auto counts = [&](const std::vector<std::uint64_t>& weights) {
        policy.by->parts.clear();
        for (const std::uint64_t weight : weights) {
            policy.by->parts.push_back({std::to_string(policy.by->parts.size()), weight});
        }
        std::vector<std::uint64_t> records;
        const PlanByValue plan = plan_of(index, policy);
        for (const Piece& piece : plan.pieces()) records.push_back(piece.records);
        return records;
    };
    using Counts = std::vector<std::uint64_t>;
    EXPECT_EQ(counts({1}), (Counts{2}));
    EXPECT_EQ(counts({17, 30, 53}), (Counts{0, 1, 1}));
    EXPECT_EQ(counts({170, 300, 530}), (Counts{0, 1, 1}));
    EXPECT_EQ(counts({18, 30, 52}), (Counts{1, 1, 0}));
    // A hash H belongs to the first part exactly if H < C * 2^64 / W. With W = 2^64 - 1 that is C > H - H / 2^64.
    constexpr std::uint64_t kHash = 0x78AF5F94892F3950U;
    EXPECT_EQ(counts({kHash, UINT64_MAX - kHash}), (Counts{2, 0}));
    EXPECT_EQ(counts({kHash - 1, UINT64_MAX - kHash + 1}), (Counts{1, 1}));
}

// More values, entries and bytes than are kept in memory, and records larger than a block.
TEST(By, ManyKeysAndLargeRecords) {
    Random random(1);
    std::string text = "id,key\n";
    for (unsigned i = 0; i < (is_thorough() ? 400'000U : kSanitized ? 50'000U : 100'000U); ++i) {
        text += std::to_string(i) + ",";
        if (random.below(20'000) == 0) text += "\"" + std::string(700'000, '\n') + "\"";
        text += std::to_string(random.below(50'000)) + "\n";
    }
    Dialect dialect;
    const KeyedRecords all = read_records(text, dialect, {1}, Policy{}.header);
    for (const unsigned threads : {1U, 2U, 5U}) {
        if (kSanitized && threads == 1) continue;
        Policy policy = policy_by({1});
        policy.by->columns.text = "key";
        policy.by->max_values = 60'000;
        if (threads == 2) policy.records = 3;
        PlanByValue plan = plan_of(index_of(text, dialect, {nullptr, threads, 1 << 20}), policy);
        const auto expected = expected_pieces(text, all, policy);
        ASSERT_FALSE(plan.can_scatter());
        ASSERT_EQ(plan.pieces().size(), expected.size());
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ(plan.pieces()[i], expected[i].piece) << i;
            std::string bytes;
            for (const BlobRange& part : plan.parts(i + 1)) bytes += text.substr(part.offset, part.size);
            ASSERT_EQ(bytes, "id,key\n" + expected[i].body);
            total += expected[i].body.size();
        }
        EXPECT_EQ(total, text.size() - 7);
    }
}

// More bytes than fit in the buffers of the pieces.
TEST(By, FewKeysWithManyRecords) {
    Random random(2);
    std::string text = "id,key\n";
    for (unsigned i = 0; i < (is_thorough() ? 300'000U : 100'000U); ++i) {
        text += std::to_string(i) + ",";
        if (random.below(20'000) == 0) text += "\"" + std::string(700'000, '\n') + "\"";
        text += std::to_string(random.below(random.below(2) == 0 ? 1 : 9)) + "\n";
    }
    const KeyedRecords all = read_records(text, Dialect(), {1}, Policy{}.header);
    for (const unsigned threads : {1U, 2U, 5U}) {
        Policy policy = policy_by({1});
        policy.by->columns.text = "key";
        if (threads != 1) policy.max_bytes = std::uint64_t{300} << 10;
        const PlanByValue plan = plan_of(index_of(text, Dialect(), {nullptr, threads, 1 << 20}), policy);
        expect_scattered(text, plan, expected_pieces(text, all, policy), policy.header);
    }
}

TEST(By, KeysLieInMemoryOfTheManager) {
    std::string text = "k,b\n";
    std::uint64_t size = 0;
    for (unsigned i = 0; i < 3000; ++i) {
        const std::string key = std::to_string(i) + std::string(400, 'x');
        text += key + "," + key + "\n";
        size += key.size();
    }
    for (const unsigned threads : {1U, 3U}) {
        const auto pool = MemoryManager::open("pool");
        const PlanByValue plan =
            plan_of(index_of(text, Dialect(), {.threads = threads, .memory = pool}), policy_by({0}));
        EXPECT_EQ(plan.key_count(), 3000U);
        EXPECT_GE(pool->pool_statistics()->used_size, size) << "they lie elsewhere";
    }
}

TEST(By, TextsWithoutRecords) {
    for (const std::string text : {"", "a\n", "a", "\n", "\xEF\xBB\xBF", "\xEF\xBB\xBF\n"}) {
        for (const HeaderMode header : kHeaderModes) {
            Policy policy = policy_by({0});
            policy.header = header;
            Policy drawn = policy;
            drawn.by->columns.text.clear();
            drawn.by->parts = {{"train", 80}, {"test", 20}};
            SCOPED_TRACE(testing::Message() << shown(text) << "; " << describe(policy));
            const KeyedRecords all = read_records(text, Dialect(), {0}, header);
            const RecordIndex index = index_of(text, Dialect(), {});
            const auto expect = [&](const Policy& wanted) {
                PlanByValue plan = plan_of(index, wanted);
                if (plan.can_scatter()) plan.list_parts();
                expect_plan(text, plan, expected_pieces(text, all, wanted), wanted, all.begins[all.body]);
            };
            expect(drawn);
            try {
                expect(policy);
            } catch (const RuleError&) {
                EXPECT_TRUE(text.empty() || text.starts_with("\xEF\xBB\xBF")) << "there is a column";
            }
        }
    }
}

// One such dialect is jsonl. The first record that is not empty defines the columns.
TEST(By, DialectsWithoutAHeaderHaveColumns) {
    Dialect dialect;
    dialect.header = HeaderRecord::kNone;
    for (const std::string text : {"a,x\nb,x\na,y\n", "\na,x\nb,x\na,y\n", "\n", "\xEF\xBB\xBF\n"}) {
        Policy policy = policy_by({0});
        policy.by->is_header_given = false;
        const KeyedRecords all = read_records(text, dialect, {0}, HeaderMode::kNone);
        const RecordIndex index = index_of(text, dialect, {});
        PlanByValue plan = plan_of(index, policy);
        plan.list_parts();
        expect_plan(text, plan, expected_pieces(text, all, policy), policy, 0);
    }
    const std::string text = "\na,x\n";
    EXPECT_THROW(plan_of(index_of(text, dialect, {}), policy_by({2})), RuleError);
}

TEST(By, ColumnsAndPoliciesThatAreNone) {
    const std::string text = "a,b\n1,2\n";
    const RecordIndex index = index_of(text, Dialect(), {});
    const auto refuses = [&](const char* columns) {
        Policy policy = policy_by({0});
        policy.by->columns.text = columns;
        EXPECT_THROW(plan_of(index, policy), RuleError) << columns;
    };
    for (const char* columns : {"", "c", "a,", ",a", "a,a", "a b", "a-b", "*", "#3", "a,#1", "!a"}) refuses(columns);
    Policy policy = policy_by({0});
    EXPECT_THROW(plan_pieces(index, policy, [](const Piece&) {}), std::invalid_argument);
    policy.pieces = 2;
    EXPECT_THROW(plan_of(index, policy), std::invalid_argument);
    policy = policy_by({0});
    policy.by->max_values = 0;
    EXPECT_THROW(plan_of(index, policy), std::invalid_argument);
    policy = policy_by({0});
    policy.by->buckets = 0;
    EXPECT_THROW(plan_of(index, policy), std::invalid_argument);
    policy.by->buckets = 2;
    policy.records = 1;
    EXPECT_THROW(plan_of(index, policy), std::invalid_argument);
}

}  // namespace cleave::test::by_test
