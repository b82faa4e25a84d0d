// Pieces by value: every record is in the piece of its value, its bucket or its part, in order and byte for byte, under
// every limit, header mode, number of threads and block size. A record without the field, or one value more than
// allowed, stops the plan.
#include <gtest/gtest.h>

#include <algorithm>

#include "by_check.h"
#include "choices.h"
#include "cleave/error.h"
#include "cleave/foreign.h"
#include "cleave/memory.h"
#include "csv_mutator.h"
#include "inputs.h"
#include "plan_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

struct Case {
    Dialect dialect;
    Policy policy;
    std::vector<std::size_t> columns;
    Execution execution;
    std::size_t text_at;
    std::string text;
};

Policy make_policy(Choices& choices, const std::vector<std::size_t>& columns) {
    Policy policy;
    ByValue& by = policy.by.emplace();
    for (const std::size_t column : columns) {
        by.columns.text += (by.columns.text.empty() ? "#" : ", #") + std::to_string(column + 1);
    }
    by.columns.origin = "--by";
    by.is_delimiter_given = by.is_header_given = true;
    by.accepts_missing = !choices.one_in(4);
    if (choices.one_in(4)) by.max_values = 1 + choices.below(8);
    policy.header = choices.header_mode();
    const std::size_t kind = choices.below(5);
    if (kind == 0) {
        const std::size_t count = 1 + choices.below(20);
        if (count <= 10) {
            by.buckets = count;
        } else {
            for (std::size_t i = 10; i < count; ++i) by.parts.push_back({std::to_string(i), 1 + i % 3});
            if (count % 2 == 0) by.columns.text.clear();  // a draw
        }
    }
    if (kind == 1 || kind == 2) policy.records = 1 + choices.below(4);
    if (kind == 2 || kind == 3) policy.max_bytes = 1 + choices.below(100);
    return policy;
}

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    static const std::shared_ptr<MemoryManager> kMemory = MemoryManager::open("system");
    Case made;
    made.dialect = choices.dialect();
    made.dialect.header = choices.header_record();
    made.columns.push_back(choices.below(3));
    if (choices.one_in(3)) made.columns.push_back((made.columns.front() + 1) % 3);
    made.policy = make_policy(choices, made.columns);
    made.execution.kernel = kKernels[choices.below(kKernels.size())];
    made.execution.threads = choices.one_in(16) ? 2 + choices.byte() % 3 : 1;
    made.execution.block_size = 1 + choices.below(300);
    made.execution.memory = kMemory;
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void expect_stop(const RecordIndex& index, const Case& made, const KeyedRecords& all, const Stop& stop) {
    try {
        const PlanByValue plan(index, made.policy);
        ADD_FAILURE() << "no fault";
    } catch (const ValueLimitError& error) {
        EXPECT_FALSE(stop.is_missing);
        EXPECT_EQ(error.max_values(), made.policy.by->max_values);
    } catch (const InputError& error) {
        EXPECT_TRUE(stop.is_missing);
        ASSERT_TRUE(error.place());
        EXPECT_EQ(error.place()->record, stop.record);
        const std::uint64_t begin = all.begins[stop.record];
        EXPECT_EQ(error.place()->offset, begin == 0 ? index.lead().size : begin);
    }
}

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    if (foreign_format(bytes_of(made.text))) return;  // indexing refuses it
    if (!PlanCheck(made.text, made.dialect, made.policy).has_plan()) return;
    const HeaderMode header = header_mode(made.policy.header, made.dialect);
    const KeyedRecords all = read_records(made.text, made.dialect, made.columns, header);
    const RecordIndex index(bytes_of(made.text), made.dialect, made.execution);
    try {
        if (const auto stop = first_stop(all, *made.policy.by)) return expect_stop(index, made, all, *stop);
        PlanByValue plan(index, made.policy);
        const std::vector<ExpectedPiece> expected = expected_pieces(made.text, all, made.policy);
        if (plan.can_scatter()) expect_scattered(made.text, plan, expected, made.policy.header);
        plan.list_parts();
        expect_plan(made.text, plan, expected, made.policy, all.begins[all.body]);
    } catch (const RuleError& error) {  // the first record is too short
        EXPECT_GT(*std::ranges::max_element(made.columns), 0U) << error.what();
    }
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
