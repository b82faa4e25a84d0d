// Rules are refused with a RuleError, or let no value of a named column slip through.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "choices.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rules.h"

namespace cleave::test {
namespace {

InputColumns make_columns(Choices& choices) {
    InputColumns columns;
    columns.count = choices.below(9);
    columns.is_delimiter_given = !choices.one_in(8);
    columns.is_header_given = !choices.one_in(8);
    if (choices.one_in(4)) return columns;
    constexpr std::string_view kNames[] = {"a",  "b", "c",  "a b",  "A",  "a-b",      "b-c", "a[1]", "n",     "n",
                                           "x*", "",  "#1", "a\"b", "if", "@default", "\r",  "x\ny", "e_mail"};
    for (std::size_t i = 0; i < columns.count; ++i) {
        const std::size_t choice = choices.below(std::size(kNames) + 1);
        columns.names.push_back(choice < std::size(kNames) ? std::string(kNames[choice])
                                                           : choices.text(choices.below(8)));
    }
    return columns;
}

RuleRequest make_request(Choices& choices) {
    RuleRequest request;
    const std::size_t action = choices.below(8);
    if (action < 4) request.default_action = static_cast<DefaultAction>(action);
    const bool has_select = choices.one_in(2);
    if (has_select) request.select = RuleText{choices.text(choices.below(40)), "--select"};
    request.rules = rules_of_file(choices.text(UINT16_MAX), "f");
    return request;
}

void expect_sound(const RuleSet& rules, const InputColumns& columns) {
    EXPECT_EQ(rules.column_count, columns.count);
    EXPECT_EQ(rules.names.size(), columns.count);
    ASSERT_EQ(rules.of_column.size(), columns.count);
    std::vector<std::size_t> selected = rules.selected;
    std::ranges::sort(selected);
    EXPECT_EQ(std::ranges::adjacent_find(selected), selected.end());
    EXPECT_TRUE(selected.empty() || selected.back() < columns.count);
    for (const Rule& rule : rules.rules) {
        EXPECT_TRUE(std::ranges::is_sorted(rule.columns, std::ranges::less_equal())) << "or one is there twice";
        EXPECT_TRUE(rule.columns.empty() || rule.columns.back() < columns.count);
        for (const Condition& condition : rule.conditions) EXPECT_LT(condition.column, columns.count);
    }
}

// Each chain consists of the rules that name the column, and ends with the first one without a condition.
void expect_chains(const RuleSet& rules) {
    for (std::size_t column = 0; column < rules.column_count; ++column) {
        std::vector<std::size_t> chain;
        bool is_ended = false;
        for (std::size_t i = 0; i < rules.rules.size() && !is_ended; ++i) {
            if (!std::ranges::binary_search(rules.rules[i].columns, column)) continue;
            chain.push_back(i);
            is_ended = rules.rules[i].conditions.empty();
        }
        EXPECT_EQ(rules.of_column[column], chain);
        EXPECT_TRUE(chain.empty() || is_ended);
        const bool is_selected = std::ranges::find(rules.selected, column) != rules.selected.end();
        const bool is_unnamed = std::ranges::find(rules.unnamed, column) != rules.unnamed.end();
        EXPECT_EQ(is_unnamed, is_selected && chain.empty());
    }
}

// A template in which every column has been decided is a set of rules that names every column.
void expect_usable_template(InputColumns columns) {
    columns.is_delimiter_given = true;
    columns.is_header_given = true;
    RuleRequest request;
    request.rules = rules_of_file(rules_template(columns), "template");
    ASSERT_EQ(request.rules.size(), columns.count + 1);
    for (RuleText& rule : request.rules) rule.text.replace(rule.text.rfind("fail"), 4, "keep");
    KeyUses keys({});
    const RuleSet rules = resolve_rules(request, columns, keys);
    EXPECT_TRUE(rules.unnamed.empty());
}

void fuzz(Choices choices) {
    const InputColumns columns = make_columns(choices);
    const RuleRequest request = make_request(choices);
    expect_usable_template(columns);
    KeyUses keys({"k", "pii"});
    try {
        const RuleSet rules = resolve_rules(request, columns, keys);
        expect_sound(rules, columns);
        expect_chains(rules);
    } catch (const RuleError& error) {
        EXPECT_LE(error.place(), error.text().size());
        EXPECT_FALSE(error.origin().empty());
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
