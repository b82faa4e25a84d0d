// Rules on JSON Lines: any rules and lines are refused, or give as many lines, each of them JSON where the input's is,
// whether they are written together or one by one, and of the sizes that were measured. Rules that only keep change
// nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "choices.h"
#include "cleave/error.h"
#include "cleave/stage.h"
#include "cleave/stage_error.h"
#include "inputs.h"

namespace cleave::test {
namespace {

StageOptions make_options(Choices& choices) {
    StageOptions options;
    const std::size_t action = choices.below(8);
    if (action < 4) options.default_action = static_cast<DefaultAction>(action);
    if (choices.one_in(3)) options.forbid.push_back(ForbiddenKind::kEmail);
    if (choices.one_in(2)) options.select = RuleText{choices.text(choices.below(40)), "--select"};
    options.rules = rules_of_file(choices.text(choices.below(200)), "f");
    return options;
}

std::string text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string written(const Stage& stage, std::span<const std::uint8_t> text) {
    StageWorker worker(stage, default_kernel());
    const RecordBlock block = worker.read(text, {}, true);
    worker.write(block);
    std::vector<std::uint64_t> sizes(block.record_count());
    StageWorker(stage, default_kernel()).measure(block, sizes);
    for (std::size_t r = 0; r < sizes.size(); ++r) {
        const auto starts = worker.starts();
        EXPECT_EQ(sizes[r], (r + 1 < starts.size() ? starts[r + 1] : worker.written().size()) - starts[r]);
    }
    return text_of(worker.written());
}

bool is_json(std::string_view line) { return nlohmann::json::accept(line); }

void compare(const Stage& stage, const StageOptions& options, const std::string& text) {
    const std::string all = written(stage, bytes_of(text));
    std::string one_by_one;
    for (std::string_view rest = text; !rest.empty();) {
        const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
        const std::string made = written(stage, bytes_of(line));
        EXPECT_EQ(std::ranges::count(made, '\n'), std::ranges::count(line, '\n'));
        EXPECT_TRUE(is_json(made) || !is_json(line)) << made;
        one_by_one += made;
        rest.remove_prefix(line.size());
    }
    EXPECT_EQ(all, one_by_one);
    const auto keeps = [](const StageRule& rule) { return rule.operation == "keep"; };
    if (!options.select && std::ranges::all_of(stage.rules(), keeps)) EXPECT_EQ(all, text);
}

void fuzz(Choices choices) {
    const StageOptions options = make_options(choices);
    const std::string text = choices.text(UINT16_MAX);
    try {
        const Stage stage(options, dialect_preset("jsonl").value().dialect, {}, false);
        compare(stage, options, text);
    } catch (const RuleError& error) {
        EXPECT_LE(error.place(), error.text().size());
    } catch (const InputError& error) {
        EXPECT_TRUE(error.place() && error.place()->offset <= text.size()) << error.what();
    } catch (const ArgumentError&) {  // a rule names a file or a key
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
