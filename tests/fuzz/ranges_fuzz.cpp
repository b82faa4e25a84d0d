// Any text in any dialect, cut into ranges anywhere, passes the checks in range_check.h. Any JSON of a summary or a
// plan is either read or refused with an InputError.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "choices.h"
#include "cleave/experimental/range_plan.h"
#include "csv_mutator.h"
#include "features/ranges/range_machine.h"
#include "range_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

void read_json(const std::string& text) {
    try {
        const SummarisedRange range = parse_range_text(text);
        RangeFold fold(range.input.size);
        fold.add(range.summary);
        Policy policy;
        policy.records = 1 + range.input.size / 100;
        fold.plan(policy);
    } catch (const InputError&) {  // not a summary, or not a summary of a whole input
    }
    try {
        const RangePlan plan = parse_plan_text(text);
        const std::string bytes = "a,b\n1,2\n";
        find_cuts(MemoryBlob(bytes_of(bytes)), plan.dialect, plan.cuts, Execution{});
    } catch (const InputError&) {         // not a plan
    } catch (const InputChangedError&) {  // a plan for other bytes
    }
}

struct Case {
    bool is_json;
    Dialect dialect;
    std::uint64_t seed;
    std::vector<std::uint64_t> ends;  // of ranges, within the text
    bool has_mark;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    Case made;
    made.is_json = choices.one_in(4);
    made.dialect = choices.dialect();
    if (choices.one_in(4)) made.dialect.header = HeaderRecord::kFirst;
    made.seed = choices.number();
    made.ends.resize(choices.below(5));
    for (std::uint64_t& end : made.ends) end = choices.byte();
    made.has_mark = choices.one_in(4);
    made.text_at = choices.taken();
    made.text = (made.has_mark ? "\xEF\xBB\xBF" : "") + choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    Case made = make_case(choices);
    const std::string& text = made.text;
    for (std::uint64_t& end : made.ends) end = std::min<std::uint64_t>(end, text.size());
    made.ends.push_back(text.size());
    std::ranges::sort(made.ends);
    if (made.is_json) {
        // A summary with a part of it replaced.
        const auto bytes = bytes_of(text).first(static_cast<std::size_t>(made.ends.front()));
        std::string json = range_text(RangeMachine(made.dialect).summarise(bytes, 0), {text.size(), "v"});
        json.replace(text.size() % (json.size() + 1), text.size(), text);
        read_json(json);
        read_json(text);
        return;
    }
    Random random(made.seed);
    check_ranges(text, made.dialect, made.ends, random);
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_csv({data, max_size}, size, seed, made.is_json ? size : made.text_at, made.dialect);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
