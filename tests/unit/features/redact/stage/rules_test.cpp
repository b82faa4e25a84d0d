// The rule language: what each production means, and the reason and position of each refusal.
#include <gtest/gtest.h>

#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rule_parser.h"
#include "features/redact/stage/rules.h"
#include "rules.h"

namespace cleave::test::rules_test {

RuleSyntax parsed(const std::string& text) { return parse_rule({text, "--redact"}); }

TEST(RuleParser, ReadsOperations) {
    EXPECT_EQ(parsed("a:null").operation.name, "null");
    EXPECT_EQ(parsed(" a : null ( ) ").operation.place, 5U);
    EXPECT_TRUE(parsed("a:null()").operation.arguments.empty());
    const OperationSyntax mask = parsed(R"(a: mask(first=2, char = "*",last=""))").operation;
    ASSERT_EQ(mask.arguments.size(), 3U);
    EXPECT_EQ(mask.arguments[0].key, "first");
    EXPECT_EQ(mask.arguments[0].value, "2");
    EXPECT_FALSE(mask.arguments[0].is_quoted);
    EXPECT_EQ(mask.arguments[0].place, 8U);
    EXPECT_EQ(mask.arguments[1].value, "*");
    EXPECT_TRUE(mask.arguments[1].is_quoted);
    EXPECT_EQ(mask.arguments[1].place, 17U);
    EXPECT_EQ(mask.arguments[2].value, "");
    const OperationSyntax fixed = parsed("a: fixed(\"X \"\"y\"\", (z)\")").operation;
    ASSERT_EQ(fixed.arguments.size(), 1U);
    EXPECT_EQ(fixed.arguments[0].key, "");
    EXPECT_EQ(fixed.arguments[0].value, "X \"y\", (z)");
    EXPECT_TRUE(fixed.arguments[0].is_quoted);
}

TEST(RuleParser, ReadsColumns) {
    const auto column = [](const std::string& text) {
        const ArgumentSyntax argument = parsed("a: x(k, by = " + text + " , y=z)").operation.arguments.at(1);
        EXPECT_EQ(argument.key, "by");
        return argument.column.value();
    };
    EXPECT_EQ(column("b").text, "b");
    EXPECT_EQ(column("b[2]").text, "b[2]") << "a name or a number of one: the columns decide";
    EXPECT_EQ(column("\"b c\"").nth, 0U);
    EXPECT_EQ(column("\"b c\"[2]").text, "b c");
    EXPECT_EQ(column("\"b c\"[2]").nth, 2U);
    EXPECT_EQ(column("#3").first, 3U);
    EXPECT_EQ(column("#3").place, 13U);
}

TEST(RuleParser, ReadsNestedOperations) {
    const OperationSyntax email = parsed("a: email(local=hmac(pii, bytes=9))").operation;
    ASSERT_EQ(email.arguments.size(), 1U);
    EXPECT_EQ(email.arguments[0].key, "local");
    EXPECT_EQ(email.arguments[0].value, "hmac");
    EXPECT_EQ(email.arguments[0].place, 9U);
    ASSERT_EQ(email.arguments[0].nested.size(), 1U);
    const OperationSyntax& hmac = email.arguments[0].nested[0];
    EXPECT_EQ(hmac.name, "hmac");
    EXPECT_EQ(hmac.place, 15U);
    ASSERT_EQ(hmac.arguments.size(), 2U);
    EXPECT_EQ(hmac.arguments[0].value, "pii");
    EXPECT_EQ(hmac.arguments[1].key, "bytes");
    EXPECT_EQ(hmac.arguments[1].place, 25U);
    EXPECT_TRUE(parsed("a: x(y())").operation.arguments.at(0).nested.at(0).arguments.empty());
    expect_bad_rule("a: email(local=hmac(f(x)))", 21, "nested only once");
    expect_bad_rule("a: email(local=\"hmac\"(pii))", 21, "expected ',' or ')'");
}

TEST(RuleParser, TakesEmptyChangeOut) {
    const RuleSyntax rule = parsed("a: mask(first=1, empty=change)");
    EXPECT_TRUE(rule.changes_empty);
    EXPECT_EQ(rule.operation.arguments.size(), 1U);
    EXPECT_TRUE(parsed("a: null(empty=change)").changes_empty);
    EXPECT_TRUE(parsed("a: null(empty=change)").operation.arguments.empty());
    EXPECT_TRUE(parsed("a: email(local=hmac(pii), empty=change)").changes_empty);
    EXPECT_FALSE(parsed("a: null").changes_empty);
    EXPECT_FALSE(parsed("a: fixed(empty)").changes_empty) << "a value without a key";
    expect_bad_rule("a: mask(empty=change, first=1)", 8, "must be the last argument");
    expect_bad_rule("a: null(empty=keep)", 8, "only be empty=change");
    expect_bad_rule("a: null(empty=change(x))", 8, "only be empty=change");
    expect_bad_rule("a: null(empty=change, empty=change)", 22, "given twice");
    expect_bad_rule("a: email(local=hmac(pii, empty=change))", 25, "outer operation");
}

TEST(RuleParser, ReadsConditions) {
    using Kind = ConditionKind;
    const RuleSyntax rule =
        parsed(R"(a: null if b = x and c!="y z" and "d e" in {1, "2",""} and #4 empty and e[2] not empty and f in{v})");
    ASSERT_EQ(rule.conditions.size(), 6U);
    EXPECT_EQ(rule.condition_place, 8U);
    const auto check = [&](std::size_t i, Kind kind, const std::vector<std::string>& values,
                           const std::string& column) {
        EXPECT_EQ(rule.conditions[i].kind, kind) << i;
        EXPECT_EQ(rule.conditions[i].values, values) << i;
        EXPECT_EQ(rule.conditions[i].column.text, column) << i;
    };
    check(0, Kind::kIn, {"x"}, "b");
    check(1, Kind::kNotEqual, {"y z"}, "c");
    check(2, Kind::kIn, {"1", "2", ""}, "d e");
    check(3, Kind::kEmpty, {}, "");
    check(4, Kind::kNotEmpty, {}, "e[2]");
    check(5, Kind::kIn, {"v"}, "f");
}

TEST(RuleParser, KnowsItsWordsByTheirPlace) {
    const RuleSyntax rule = parsed("if: if if if = if and and in {and} and not not empty and in empty and empty = in");
    EXPECT_EQ(rule.columns.at(0).text, "if");
    EXPECT_EQ(rule.operation.name, "if");
    ASSERT_EQ(rule.conditions.size(), 5U);
    EXPECT_EQ(rule.conditions[1].column.text, "and");
    EXPECT_EQ(rule.conditions[2].column.text, "not");
    EXPECT_EQ(rule.conditions[2].kind, ConditionKind::kNotEmpty);
    EXPECT_EQ(rule.conditions[4].values, std::vector<std::string>({"in"}));
}

TEST(RuleParser, SaysWhereARuleIsWrong) {
    expect_bad_rule("", 0, "expected a column before the end");
    expect_bad_rule("a", 1, "there is no operation; write");
    expect_bad_rule("a b: null", 2, "expected ',' or ':'");
    expect_bad_rule(": null", 0, "expected a column");
    expect_bad_rule("a:", 2, "expected an operation before the end");
    expect_bad_rule("a: \"null\"", 3, "expected an operation");
    expect_bad_rule("a: (x)", 3, "expected an operation");
    expect_bad_rule("a: null(", 8, "expected an argument before the end");
    expect_bad_rule("a: null(x", 9, "expected ',' or ')' after an argument before the end");
    expect_bad_rule("a: null(x y)", 10, "expected ',' or ')'");
    expect_bad_rule("a: null(x,)", 10, "expected an argument");
    expect_bad_rule("a: null(,x)", 8, "expected an argument");
    expect_bad_rule("a: null(x=)", 10, "expected a value");
    expect_bad_rule("a: null(=x)", 8, "expected an argument");
    expect_bad_rule("a: null(x==y)", 10, "expected a value");
    expect_bad_rule("a: null(\"x\"=y)", 11, "expected ',' or ')'");
    expect_bad_rule("a: null(x=#1)", 10, "a text that begins with # needs quotes");
    expect_bad_rule("a: mask(char=#1)", 13, "a text that begins with # needs quotes");
    expect_bad_rule("a: null(by=#1)", 8, "null takes no arguments");
    expect_bad_rule("a: noise(pii, sd=1, by=#6)", 23, "there is no column #6");
    expect_bad_rule("a: noise(pii, sd=1, by=x)", 23, "there is no column");
    expect_bad_rule("a: noise(pii, sd=1, by=#1-#2)", 23, "give one column here");
    expect_bad_rule("a: noise(pii, sd=1, by=*)", 23, "give one column here");
    expect_bad_rule("a: noise(pii, sd=1, by=\"a\"[2])", 23, "there is 1 column \"a\"");
    expect_bad_rule("a: noise(pii, sd=1, by=\"a\"[0])", 23, "counted from 1");
    expect_bad_rule("a: noise(pii, sd=1, by=a(b))", 24, "expected ',' or ')'");
    expect_bad_rule("a: fixed(\"x\"[1])", 12, "expected ',' or ')'");
    expect_bad_rule("a: fixed(x=\"x\"[1])", 14, "expected ',' or ')'");
    expect_bad_rule("a: mask(first=1,first=1)", 16, "first is given twice");
    expect_bad_rule("a: fixed(\"x)", 9, "not closed");
    expect_bad_rule("a: null)", 7, "expected 'if' or the end");
    expect_bad_rule("a: null, b: null", 7, "expected 'if' or the end");
    expect_bad_rule("a: null unless b = 1", 8, "expected 'if' or the end");
    expect_bad_rule("a: null # why", 8, "expected 'if' or the end");
    expect_bad_rule("a: null\nb: null", 7, "expected 'if' or the end");
    expect_bad_rule("a: null if", 10, "expected a column before the end");
    expect_bad_rule("a: null if b", 12, "expected =, !=, in, empty or not empty");
    expect_bad_rule("a: null if b < 1", 13, "expected =, !=, in, empty or not empty");
    expect_bad_rule("a: null if b =", 14, "expected a value");
    expect_bad_rule("a: null if b == 1", 14, "expected a value");
    expect_bad_rule("a: null if b ! = 1", 13, "expected =, !=");
    expect_bad_rule("a: null if b = 1 or c = 1", 17, "expected 'and' or the end");
    expect_bad_rule("a: null if b = 1 and", 20, "expected a column before the end");
    expect_bad_rule("a: null if b in", 15, "expected '{'");
    expect_bad_rule("a: null if b in 1", 16, "expected '{'");
    expect_bad_rule("a: null if b in {}", 17, "expected a value");
    expect_bad_rule("a: null if b in {1", 18, "expected ',' or '}'");
    expect_bad_rule("a: null if b in {1 2}", 19, "expected ',' or '}'");
    expect_bad_rule("a: null if b in {1,}", 19, "expected a value");
    expect_bad_rule("a: null if b not", 16, "expected 'empty' after 'not'");
    expect_bad_rule("a: null if b not in {1}", 17, "expected 'empty' after 'not'");
    expect_bad_rule("a: null if b = \"x", 15, "not closed");
}

TEST(Rules, GiveTheFaultsOfOperationsTheirPlace) {
    try {
        resolve(redact({"a: unheard-of(1)"}));
        ADD_FAILURE();
    } catch (const RuleError& error) {
        EXPECT_EQ(error.place(), 3U);
        EXPECT_EQ(error.origin(), "--redact");
        EXPECT_EQ(error.text(), "a: unheard-of(1)");
    }
    EXPECT_THROW(resolve(redact({"a: hmac(unknown)"})), RuleError);
    EXPECT_THROW(resolve(redact({"a: mask(first=x)"})), RuleError);
    EXPECT_THROW(resolve(redact({"a: fixed"})), RuleError);
}

TEST(Rules, MakeEachOperation) {
    const RuleSet rules =
        resolve(redact({"a: keep", "a: null", "a: fixed(\"x\")", "a: hmac(pii, bytes=32, trim)",
                        "a: mask(first=1, last=4, char=x)", "b: initials", "b: short-name", "b: email(local=mask)",
                        "b: email(local=hmac(other))", "b: date(month)", "b: bucket(0.5)"}));
    std::vector<std::size_t> kinds;
    kinds.reserve(rules.rules.size());
    for (const Rule& rule : rules.rules) kinds.push_back(rule.operation_kind);
    EXPECT_EQ(kinds, std::vector<std::size_t>({0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9}));
    EXPECT_EQ(rules.rules[6].operation_name, "short-name");
    EXPECT_EQ(rules.rules[3].source.text, "a: hmac(pii, bytes=32, trim)");
    EXPECT_EQ(rules.of_column[0], Columns({0})) << "later rules are never asked";
    EXPECT_EQ(rules.of_column[1], Columns({5}));
}

TEST(Rules, CollectTheUsesOfKeys) {
    KeyUses keys({"pii", "other"});
    resolve_rules(redact({"a: hmac(pii)", "b: hmac(other, context=x)", "c: email(local=hmac(pii))"}), letters(), keys);
    ASSERT_EQ(keys.uses().size(), 2U);
    EXPECT_EQ(keys.uses()[0], (KeyUses::Use{"pii", ""}));
    EXPECT_EQ(keys.uses()[1], (KeyUses::Use{"other", "x"}));
}

TEST(Rules, AreChainsOfColumns) {
    const RuleSet rules =
        resolve(redact({"a-b: null if c = 1 and d in {x,y}", "a: keep if e not empty", "b: mask", "*: null"}));
    EXPECT_EQ(rules.of_column[0], Columns({0, 1, 3}));
    EXPECT_EQ(rules.of_column[1], Columns({0, 2}));
    EXPECT_EQ(rules.of_column[2], Columns({3}));
    EXPECT_EQ(rules.column_count, 5U);
    EXPECT_EQ(rules.names, letters().names);
    EXPECT_TRUE(rules.unnamed.empty());
    ASSERT_EQ(rules.rules[0].conditions.size(), 2U);
    EXPECT_EQ(rules.rules[0].conditions[0].column, 2U);
    EXPECT_EQ(rules.rules[0].conditions[1].column, 3U);
    EXPECT_EQ(rules.rules[0].conditions[1].values, std::vector<std::string>({"x", "y"}));
    EXPECT_EQ(rules.rules[1].conditions[0].kind, ConditionKind::kNotEmpty);
    EXPECT_EQ(resolve(redact({"#2: null"}), no_header(3)).names, std::vector<std::string>({"#1", "#2", "#3"}));
}

TEST(Rules, HaveConditionsOnOneColumnEach) {
    const InputColumns columns = header({"a", "n", "n", "b-c", "x"});
    EXPECT_EQ(resolve(redact({"a: null if n[2] = 1 and b-c empty and #5 empty", "a: keep"}), columns)
                  .rules[0]
                  .conditions[0]
                  .column,
              2U);
    expect_bad_rule("a: null if n = 1", 11, "2 columns \"n\"", columns);
    expect_bad_rule("a: null if x empty and y = 1", 23, "no column \"y\"", columns);
    expect_bad_rule("a: null if x* = 1", 11, "give one column here", columns);
    expect_bad_rule("a: null if * = 1", 11, "give one column here", columns);
    expect_bad_rule("a: null if a-x = 1", 11, "give one column here", columns);
    expect_bad_rule("a: null if #1-#2 = 1", 11, "give one column here", columns);
    expect_bad_rule("a: null if !x = 1", 11, "expected a column", columns);
}

TEST(Rules, ThatNameAColumnEndWithoutACondition) {
    expect_bad_rule("a: null if b = 1", 8, "\"a\" needs a rule without a condition");
    const RuleRequest request = redact({"a,b: null if c = 1", "b: keep", "a: keep if c = 2"});
    expect_error(request, letters(), {"a: keep if c = 2", "--redact"}, 8, "\"a\" needs a rule without a condition");
    RuleRequest with_default = redact({"a: null if b = 1"});
    with_default.default_action = DefaultAction::kNull;
    expect_error(with_default, letters(), {"a: null if b = 1", "--redact"}, 8, "\"a\" needs a rule");
    RuleRequest dropped = redact({"a: null if b = 1"});
    dropped.select = RuleText{"!a", "--select"};
    expect_error(dropped, letters(), {"a: null if b = 1", "--redact"}, 8, "\"a\" needs a rule");
}

TEST(Rules, NameColumnsOfSimilarNamesToo) {
    const InputColumns columns = header({"id", "E mail", "email"});
    expect_error(redact({"id: keep", " email: null"}), columns, {" email: null", "--redact"}, 1,
                 R"(no rule names the column "E mail", #2 of the input, whose name is easily mistaken for "email")");
    EXPECT_NO_THROW(resolve(redact({"email: null", "\"E mail\": keep"}), columns));
    EXPECT_NO_THROW(resolve(redact({"*mail: null"}), columns));
    EXPECT_NO_THROW(resolve(redact({"id: null"}), columns));
    RuleRequest request = redact({"email: null"});
    request.select = RuleText{"!\"E mail\"", "--select"};
    EXPECT_NO_THROW(resolve(request, columns)) << "dropped";
    request.select = RuleText{"!email", "--select"};
    expect_error(request, columns, {"email: null", "--redact"}, 0, "no rule names the column \"E mail\"");
    expect_bad_rule("n[1]: null", 0, "another column \"n\", #2 of the input, has no rule", header({"n", "n"}));
    expect_bad_rule("x: null", 0, "no rule names the column \" X\t\"", header({"x", " X\t"}));
    expect_bad_rule("\xC3\xA4: null", 0, "no rule names the column \"\xC3\x84\"", header({"\xC3\xA4", "\xC3\x84"}));
    expect_bad_rule("mail: null", 0, "no rule names the column \"mail\xC2\xA0\"", header({"mail\xC2\xA0", "mail"}));
    expect_bad_rule("mail: null", 0, "no rule names the column \"m\xD0\xB0il\"", header({"mail", "m\xD0\xB0il"}));
    EXPECT_NO_THROW(resolve(redact({"C: null"}), header({"C", "C#", "C++"})));
}

TEST(Rules, NameColumnsOfSimilarNamesOnlyWhereTheyStay) {
    const InputColumns columns = header({"E mail", "email"});
    RuleRequest request = redact({"email: null"});
    for (const DefaultAction action : {DefaultAction::kNull, DefaultAction::kDrop}) {
        request.default_action = action;
        EXPECT_NO_THROW(resolve(request, columns));
    }
    request.default_action = DefaultAction::kFail;
    expect_error(request, columns, {"fail", "--redact-default"}, 0, "no rule names the column \"E mail\"");
    request.default_action = DefaultAction::kKeep;
    expect_error(request, columns, {"email: null", "--redact"}, 0, "easily mistaken");
    EXPECT_NO_THROW(resolve(select("email, *"), columns)) << "without rules";
}

TEST(Rules, DoNotShowSimilarNamesThatMayBeValues) {
    InputColumns columns = header({"Ann Lee", "Ann-Lee", "x"});
    columns.is_header_given = false;
    expect_bad_rule("*-Lee: keep", 0,
                    "no rule names the column #1, whose name is similar to #2: name it too, if only with keep",
                    columns);
}

TEST(Rules, WithFailAreNotDecided) {
    expect_bad_rule("b: fail", 3, "the column \"b\" is not decided yet");
    expect_bad_rule("b-c: fail", 5, R"(the columns "b", "c" are not decided yet)");
    expect_bad_rule("#2: fail", 4, "the column #2 is not decided yet", no_header(2));
    expect_bad_rule("b: fail(x)", 8, "fail has no arguments");
    expect_bad_rule("*: fail", 3, "\"c7\" and 2 more are not",
                    header({"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"}));
}

TEST(Default, KeepsUnnamedColumns) {
    RuleRequest request = redact({"b: null"});
    request.select = RuleText{"d,b,a", "--select"};
    EXPECT_EQ(resolve(request).unnamed, Columns({3, 0}));
    request.default_action = DefaultAction::kKeep;
    EXPECT_EQ(resolve(request).unnamed, Columns({3, 0}));
    EXPECT_EQ(resolve(request).rules.size(), 1U);
}

TEST(Default, CanBeNull) {
    RuleRequest request = redact({"b: keep"});
    request.select = RuleText{"d,b,a", "--select"};
    request.default_action = DefaultAction::kNull;
    const RuleSet rules = resolve(request);
    ASSERT_EQ(rules.rules.size(), 2U);
    EXPECT_EQ(rules.rules[1].columns, Columns({0, 3}));
    EXPECT_EQ(rules.rules[1].operation_name, "null");
    EXPECT_NE(operation_of<Null>(rules.rules[1]), nullptr);
    EXPECT_EQ(rules.rules[1].source.origin, "--redact-default");
    EXPECT_EQ(rules.rules[1].source.text, "null");
    EXPECT_EQ(rules.of_column[0], Columns({1}));
    EXPECT_TRUE(rules.of_column[2].empty()) << "dropped";
    EXPECT_TRUE(rules.unnamed.empty());
    request.rules = {{"*: keep", "--redact"}};
    EXPECT_EQ(resolve(request).rules.size(), 1U) << "every column is named";
    request = RuleRequest();
    request.default_action = DefaultAction::kNull;
    InputColumns doubtful = letters();
    doubtful.is_header_given = false;
    expect_error(request, doubtful, {"null", "--redact-default"}, 0, "the first record may be no header");
}

TEST(Default, CanDrop) {
    RuleRequest request = redact({"b,c: keep"});
    request.select = RuleText{"d,c,b,a", "--select"};
    request.default_action = DefaultAction::kDrop;
    const RuleSet rules = resolve(request);
    EXPECT_EQ(rules.selected, Columns({2, 1}));
    EXPECT_EQ(rules.rules.size(), 1U);
    EXPECT_TRUE(rules.unnamed.empty());
    request.select = RuleText{"a", "--select"};
    expect_error(request, letters(), {"drop", "--redact-default"}, 0, "no column is left");
}

TEST(Default, CanFail) {
    RuleRequest request = redact({"b: keep"});
    request.default_action = DefaultAction::kFail;
    expect_error(request, letters(), {"fail", "--redact-default"}, 0,
                 R"(no rule names the columns "a", "c", "d", "e")");
    request.select = RuleText{"b", "--select"};
    EXPECT_NO_THROW(resolve(request));
}

TEST(Default, CanStandInAFile) {
    RuleRequest request;
    request.rules = rules_of_file("  @default  null \nb: keep\n", "x.rules");
    const RuleSet rules = resolve(request);
    ASSERT_EQ(rules.rules.size(), 2U);
    EXPECT_EQ(rules.rules[1].source.origin, "x.rules:1");
    EXPECT_EQ(rules.rules[1].columns, Columns({0, 2, 3, 4}));
    request.default_action = DefaultAction::kKeep;
    expect_error(request, letters(), request.rules[0], 0, "given twice: first in --redact-default");
    request.default_action.reset();
    request.rules.push_back({"@default null", "y.rules:7"});
    expect_error(request, letters(), request.rules.back(), 0, "given twice: first in x.rules:1");
    request.rules = {{"@default", "x:1"}};
    expect_error(request, letters(), request.rules[0], 8, "expected keep, null, drop or fail");
    request.rules = {{"@default nil", "x:1"}};
    expect_error(request, letters(), request.rules[0], 9, "expected keep, null, drop or fail");
    request.rules = {{"@default null x", "x:1"}};
    expect_error(request, letters(), request.rules[0], 14, "expected the end of the line");
    request.rules = {{"@default: null", "x:1"}};
    EXPECT_EQ(resolve(request, header({"@default"})).rules.at(0).columns, Columns({0})) << "a column";
    request.rules = {{"@other null", "x:1"}};
    expect_error(request, letters(), request.rules[0], 7, "expected ',' or ':'");
}

}  // namespace cleave::test::rules_test
