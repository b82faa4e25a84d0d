// Rules on JSON Lines where a line, or the rules, are larger than usual. tests/references/stages/json_rules.py compares
// the command with a reference, and the cases pin the messages.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "cleave/stage.h"
#include "cleave/stage_error.h"
#include "inputs.h"

namespace cleave::test::json_rules_test {

Dialect json_lines() { return dialect_preset("jsonl").value().dialect; }

Stage stage_of(const std::vector<std::string>& rules, const std::string& select = {}) {
    StageOptions options;
    for (const std::string& rule : rules) options.rules.push_back({rule, "--redact"});
    if (!select.empty()) options.select = RuleText{select, "--select"};
    return {options, json_lines(), {}, false};
}

// What is written. Expects measure() to give the sizes.
std::string changed(const Stage& stage, std::string_view text, StageCounts* counts = nullptr) {
    StageWorker worker(stage, default_kernel());
    const RecordBlock block = worker.read(bytes_of(text), {}, true);
    std::vector<std::uint64_t> sizes(block.record_count());
    worker.measure(block, sizes);
    worker.write(block);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), worker.written().size());
    if (counts != nullptr) *counts = worker.counts();
    const auto written = worker.written();
    return {reinterpret_cast<const char*>(written.data()), written.size()};
}

std::string object_of(std::size_t members, const std::string& last) {
    std::string text = "{";
    for (std::size_t i = 0; i < members; ++i) text += "\"name" + std::to_string(i) + "\":\"v\",";
    return text + "\"" + last + "\":\"v\"}\n";
}

TEST(JsonRules, CountWhatEachPathHasMet) {
    const Stage stage = stage_of({".a: mask", ".b[]: mask if .c? = x", ".b[]: keep"}, "!.d");
    EXPECT_EQ(stage.paths(), (std::vector<std::string>{".d", ".a", ".b[]", ".c"}));
    StageCounts counts;
    EXPECT_EQ(changed(stage, "{\"a\":\"x\",\"b\":[1,2],\"d\":{\"a\":1}}\n{\"a\":null}\n", &counts),
              "{\"a\":\"*\",\"b\":[1,2]}\n{\"a\":null}\n");
    EXPECT_EQ(counts.met, (std::vector<std::uint64_t>{1, 2, 2, 0}));
    StageCounts sum;
    sum += counts;
    sum += counts;
    EXPECT_EQ(sum.met, (std::vector<std::uint64_t>{2, 4, 4, 0}));
    EXPECT_EQ(sum.records, 4U);
}

TEST(JsonRules, FindTwoMembersOfOneNameAmongManyOrFew) {
    const Stage stage = stage_of({".name0?: keep"});
    for (const std::size_t members : {1U, 2U, 15U, 16U, 17U, 1000U}) {
        for (const std::size_t twin : {std::size_t{0}, members / 2, members - 1}) {
            EXPECT_THROW(changed(stage, object_of(members, "name" + std::to_string(twin))), InputError);
        }
        const std::string distinct = object_of(members, "other");
        EXPECT_EQ(changed(stage, distinct), distinct);
        EXPECT_EQ(changed(stage, "{\"x\":" + distinct.substr(0, distinct.size() - 1) + ",\"name0\":1}"),
                  "{\"x\":" + distinct.substr(0, distinct.size() - 1) + ",\"name0\":1}");
    }
}

TEST(JsonRules, FindTheirMemberAmongManyRules) {
    std::vector<std::string> rules;
    for (int i = 0; i < 100; ++i) rules.push_back(".name" + std::to_string(i) + "?: fixed(" + std::to_string(i) + ")");
    const std::string out = changed(stage_of(rules), object_of(100, "other"));
    for (int i = 0; i < 100; ++i) {
        EXPECT_NE(out.find("\"name" + std::to_string(i) + "\":\"" + std::to_string(i) + "\""), std::string::npos);
    }
    EXPECT_NE(out.find("\"other\":\"v\""), std::string::npos);
}

// More names than are remembered as not similar.
TEST(JsonRules, FindASimilarNameAmongManyOthers) {
    const Stage stage = stage_of({".\"na-me\"?: mask"});
    std::string text;
    for (int i = 0; i < 3; ++i) text += object_of(5000, "other");
    EXPECT_EQ(changed(stage, text), text);
    EXPECT_THROW(changed(stage, text + "{\"NAME\":1}\n"), InputError);
}

TEST(JsonRules, ReachAsDeepAsALineMayBeNested) {
    std::string path;
    std::string open;
    std::string close;
    for (int i = 0; i < 1024; ++i) {
        path += ".a";
        open += "{\"a\":";
        close += "}";
    }
    EXPECT_EQ(changed(stage_of({path + ": mask"}), open + "\"xyz\"" + close + "\n"), open + "\"***\"" + close + "\n");
    EXPECT_THROW(stage_of({path + ".a: mask"}), RuleError);
    EXPECT_THROW(changed(stage_of({".a: keep"}), open + "{}" + close), InputError);
    EXPECT_EQ(changed(stage_of({".a[]?: mask"}), open + "1" + close), open + "1" + close);
}

// .a[0] and .a[] are two places; 17 of them in a row would be 131,072.
TEST(JsonRules, RefusePathsThatMultiply) {
    std::string each;
    std::string first;
    for (int i = 0; i < 17; ++i) {
        each += "[]";
        first += "[0]";
        if (i != 3) continue;
        EXPECT_EQ(changed(stage_of({".a" + first + ": fixed(1)", ".a" + each + ": fixed(2)"}),
                          "{\"a\":[[[[\"x\",\"y\"]]],[[[\"z\"]]]]}"),
                  "{\"a\":[[[[\"1\",\"2\"]]],[[[\"2\"]]]]}");
    }
    std::vector<std::string> rules;
    for (std::size_t i = 0; i < 17; ++i) {
        std::string path = each;
        path.replace(2 * i, 2, "[0]");
        rules.push_back(".a" + path + ": null");
    }
    EXPECT_THROW(stage_of(rules), RuleError);
}

// The array of scopes has an entry for each element; a condition finds the one beside the value.
TEST(JsonRules, FindTheElementBesideAmongMany) {
    const Stage stage = stage_of({".m[].t: fixed(1) if .m[].r = x", ".m[].t: fixed(0)"});
    std::string text = "{\"m\":[";
    std::string expected = text;
    for (int i = 0; i < 3000; ++i) {
        const std::string comma = i == 0 ? "" : ",";
        const std::string role = i % 3 == 0 ? "\"r\":\"x\"" : i % 3 == 1 ? "\"r\":\"y\"" : "\"q\":0";
        text += comma + "{\"t\":\"?\"," + role + "}";
        expected += comma + "{\"t\":\"" + (i % 3 == 0 ? "1" : "0") + "\"," + role + "}";
    }
    EXPECT_EQ(changed(stage, text + "]}"), expected + "]}");
}

}  // namespace cleave::test::json_rules_test
