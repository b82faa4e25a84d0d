// Any text by any dialect, cut into ranges anywhere: what range_check.h says. And any JSON of a summary or a plan is
// read, or refused by an InputError.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "choices.h"
#include "cleave/range_plan.h"
#include "range_check.h"
#include "scan/range_machine.h"

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
    } catch (const InputError&) {  // it is no summary, or not of a whole input
    }
    try {
        const RangePlan plan = parse_plan_text(text);
        const std::string bytes = "a,b\n1,2\n";
        find_cuts(MemoryBlob(bytes_of(bytes)), plan.dialect, plan.cuts, Execution{});
    } catch (const InputError&) {         // it is no plan
    } catch (const InputChangedError&) {  // it is not that of these bytes
    }
}

void fuzz(Choices choices) {
    const bool is_json = choices.one_in(4);
    Dialect dialect = choices.dialect();
    if (choices.one_in(4)) dialect.header = HeaderRecord::kFirst;
    Random random(choices.number());
    std::vector<std::uint64_t> ends(choices.below(5));
    for (std::uint64_t& end : ends) end = choices.byte();
    std::string text = choices.one_in(4) ? "\xEF\xBB\xBF" : "";
    text += choices.text(kMaxTextSize);
    for (std::uint64_t& end : ends) end = std::min<std::uint64_t>(end, text.size());
    ends.push_back(text.size());
    std::ranges::sort(ends);
    if (is_json) {
        // A summary with some of it replaced.
        const auto bytes = bytes_of(text).first(static_cast<std::size_t>(ends.front()));
        std::string json = range_text(RangeMachine(dialect).summarise(bytes, 0), {text.size(), "v"});
        json.replace(text.size() % (json.size() + 1), text.size(), text);
        read_json(json);
        read_json(text);
        return;
    }
    check_ranges(text, dialect, ends, random);
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
