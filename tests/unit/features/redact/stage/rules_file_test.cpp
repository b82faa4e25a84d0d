// Rules files, and the template for one.
#include <gtest/gtest.h>

#include "features/redact/stage/rules.h"
#include "rules.h"

namespace cleave::test::rules_file_test {

TEST(RulesFile, HasARuleALine) {
    const auto check = [](const std::string& text, const std::vector<std::string>& expected) {
        std::vector<std::string> lines;
        for (const RuleText& rule : rules_of_file(text, "f")) lines.push_back(rule.origin + "|" + rule.text);
        EXPECT_EQ(lines, expected) << text;
    };
    check("", {});
    check("a: null", {"f:1|a: null"});
    check("a: null\n\n \t\nb: keep\n", {"f:1|a: null", "f:4|b: keep"});
    check("# a comment\n#\n \t# indented\n#\ttab\n#3: null\n ## x\n", {"f:5|#3: null", "f:6| ## x"});
    check("a: null\r\n#\r\n\r\nb: keep\r\n", {"f:1|a: null", "f:4|b: keep"});
    check(
        "\xEF\xBB\xBF"
        "a: null",
        {"f:1|a: null"});
    check("\xEF\xBB\xBF# x\n  a: null", {"f:2|  a: null"});
    check("a: null # no comment\n", {"f:1|a: null # no comment"});
}

TEST(RulesFile, IsThatOfTheManual) {
    RuleRequest request;
    request.rules = rules_of_file(
        "# Prices and dates stay.\n@default fail\nprice, date*: keep\n\n\"full name\": short-name\n#7: null\n"
        "phone:       mask(last=2)\ncustomer:    hmac(pii, bytes=12, context=\"customer\", trim, lower)\n"
        "country:     fixed(\"unknown\", empty=change)\n"
        "name: keep if visibility = public and country in {AT, DE, \"New Zealand\"}\n"
        "name: short-name if visibility != secret\nname: fixed(\"X X\")\nvisibility: keep\n",
        "mask.rules");
    const InputColumns columns = header(
        {"price", "date", "dated", "full name", "phone", "customer", "seventh", "country", "name", "visibility"});
    const RuleSet rules = resolve(request, columns);
    EXPECT_EQ(rules.rules[0].columns, Columns({0, 1, 2}));
    EXPECT_EQ(rules.rules[2].columns, Columns({6}));
    EXPECT_EQ(rules.rules[3].source.origin, "mask.rules:7");
    EXPECT_EQ(rules.of_column[8].size(), 3U);
}

TEST(RulesFile, HasATemplate) {
    EXPECT_EQ(rules_template(header({"id", "full name", "a\"b", "n", "n", "two\nlines", ""})),
              "@default fail\n\"id\": fail\n\"full name\": fail\n\"a\"\"b\": fail\n\"n\"[1]: fail\n\"n\"[2]: fail\n"
              "#6: fail\n\"\": fail\n");
    EXPECT_EQ(rules_template(no_header(2)), "@default fail\n#1: fail\n#2: fail\n");
}

TEST(RulesFile, IsUsableOnceTheTemplateIsFilledIn) {
    for (const InputColumns& columns :
         {header({"id", "full name", "a\"b", "n", "n", "two\nlines", "", "x[1]", "*", "a-b", "#1", "\r"}), no_header(3),
          no_header(0)}) {
        std::string text = rules_template(columns);
        RuleRequest request;
        request.rules = rules_of_file(text, "f");
        if (columns.count > 0) {
            EXPECT_THROW(resolve(request, columns), RuleError) << "nothing is decided";
        }
        for (std::size_t at = 0; (at = text.find(": fail", at)) != std::string::npos;) text.replace(at, 6, ": keep");
        request.rules = rules_of_file(text, "f");
        const RuleSet rules = resolve(request, columns);
        for (std::size_t i = 0; i < columns.count; ++i) EXPECT_EQ(rules.rules.at(i).columns, Columns({i}));
    }
}

}  // namespace cleave::test::rules_file_test
