// Lists of columns: which columns each form means, and the reason and position of each refusal.
#include <gtest/gtest.h>

#include "base/shell_word.h"
#include "rules.h"

namespace cleave::test::column_list_test {

Columns selected(const std::string& list, const InputColumns& columns = letters()) {
    return resolve(select(list), columns).selected;
}

// The columns of the rule "LIST: keep".
Columns columns_of(const std::string& list, const InputColumns& columns = letters()) {
    return resolve(redact({list + ": keep"}), columns).rules.at(0).columns;
}

void expect_bad_select(const std::string& list, std::size_t place, const std::string& reason,
                       const InputColumns& columns = letters()) {
    expect_error(select(list), columns, {list, "--select"}, place, reason);
}

TEST(ColumnList, AreNames) {
    EXPECT_EQ(selected("c"), Columns({2}));
    EXPECT_EQ(selected("c,a"), Columns({2, 0}));
    EXPECT_EQ(selected(" \tc ,\ta "), Columns({2, 0}));
    EXPECT_EQ(selected("\"c\",\"a\""), Columns({2, 0}));
    EXPECT_EQ(columns_of("c,a,c"), Columns({0, 2})) << "in a rule, twice is once";
    const InputColumns odd =
        header({"", "full name", "a\"b", "x,y", "#1", "\xC3\xA4", "if", "a:b", "x*", "!x", "a\nb"});
    EXPECT_EQ(selected(R"("", "full name", "a""b", "x,y")", odd), Columns({0, 1, 2, 3}));
    EXPECT_EQ(selected("\"#1\", \xC3\xA4, if, \"a:b\", \"x*\", \"!x\", \"a\nb\"", odd),
              Columns({4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(selected("@a.b/c#1;$%&'<>?\\^`|~+", header({"@a.b/c#1;$%&'<>?\\^`|~+"})), Columns({0}));
}

TEST(ColumnList, AreComparedByteForByte) {
    expect_bad_select("A", 0, "no column \"A\"; did you mean a?");
    expect_bad_select("b,missing", 2, "no column \"missing\"");
    expect_bad_select("\"a \"", 0, "no column \"a \"");
    expect_bad_select("custmer", 0, "no column \"custmer\"; did you mean customer?", header({"id", "customer"}));
    expect_bad_select("email", 0, "; did you mean e_mail?", header({"emall", "e_mail"}));
    expect_bad_select("email", 0, "; did you mean --select '\"\xD0\xB5mail\"'?", header({"emails", "\xD0\xB5mail"}));
    expect_bad_select("\"e mail\"", 0, "; did you mean --select '\"e-mail\"'?", header({"id", "e-mail"}));
    expect_bad_select("totl (EUR)", 5, "expected", header({"total (EUR)"}));
    expect_bad_select("\"totl (EUR)\"", 0, "; did you mean --select '\"total (EUR)\"'?", header({"total (EUR)"}));
    expect_bad_select("\"\"", 0, R"(no column ""; did you mean --select '" "'?)", header({" ", "b"}));
    expect_bad_select("a", 0, "the input is empty", no_header(0));
    expect_bad_select("a", 0, "no header", no_header(2));
    expect_bad_select("a*", 0, "no header", no_header(2));
}

// Until something proves that the first record is the header, its cells are values.
TEST(ColumnList, AreProposedBeforeThereIsProofOfAHeaderOnlyIfTheUserTypedThem) {
    InputColumns columns = header({"Ann", "customer", "Cust\xC3\xB6mer"});
    columns.is_header_given = false;
    const auto expect_message = [&](const std::string& list, const std::string& message) {
        try {
            resolve(select(list), columns);
            ADD_FAILURE() << list << " is accepted";
        } catch (const RuleError& error) {
            EXPECT_EQ(error.what(), message);
        }
    };
    const std::string hint = "; cleave check --columns lists those of the first record";
    expect_message("custmer", "there is no column \"custmer\"" + hint);
    expect_message("ANN", "there is no column \"ANN\"; did you mean Ann?");
    expect_message("\"a n n\"", "there is no column \"a n n\"; did you mean Ann?");
    columns.names.emplace_back("A_NN");
    columns.count = columns.names.size();
    expect_message("ann", "there is no column \"ann\"" + hint);  // ambiguous
}

TEST(ColumnList, AreNumbers) {
    EXPECT_EQ(selected("#3"), Columns({2}));
    EXPECT_EQ(selected("#2-#4"), Columns({1, 2, 3}));
    EXPECT_EQ(selected("#5 , #1-#1"), Columns({4, 0}));
    EXPECT_EQ(selected("#3,#1", no_header(3)), Columns({2, 0}));
    EXPECT_EQ(columns_of("#3,#1-#2", no_header(3)), Columns({0, 1, 2}));
    EXPECT_EQ(selected("#007", no_header(9)), Columns({6}));
    expect_bad_select("a,#6", 2, "no column #6: the input has 5 columns");
    expect_bad_select("#2", 0, "no column #2: the input has 1 column", no_header(1));
    expect_bad_select("#18446744073709551616", 0, "no column #18446744073709551615");
    expect_bad_select("#0", 0, "numbered from 1");
    expect_bad_select("#0-#2", 0, "numbered from 1");
    expect_bad_select("#1-#9", 0, "no column #9");
    expect_bad_select("#4-#2", 0, "ends before it begins");
    expect_bad_select("#", 1, "expected a number before the end");
    expect_bad_select("# 1", 2, "expected a number");
    expect_bad_select("#a", 1, "expected a number");
    expect_bad_select("#1-2", 3, "expected '#'");
    expect_bad_select("#1-", 3, "expected '#'");
    expect_bad_select("#1-#", 4, "expected a number before the end");
    expect_bad_select("#1a", 2, "expected ',' or the end");
    expect_bad_select("#1 -#2", 3, "expected ',' or the end");
}

TEST(ColumnList, ByNumberNeedADelimiterAndAHeaderThatWereSaid) {
    InputColumns columns = letters();
    columns.is_delimiter_given = false;
    expect_bad_select("a,#1", 2, "needs -d ,: under", columns);
    expect_bad_rule("#1: null", 0, "needs -d", columns);
    expect_bad_rule("a: null if #1 = x", 11, "needs -d", columns);
    EXPECT_EQ(selected("a-c", columns), Columns({0, 1, 2}));
    columns.is_delimiter_given = true;
    columns.is_header_given = false;
    expect_bad_select("#1-#2", 0, "needs --header repeat or -H", columns);
    EXPECT_EQ(selected("*,a", columns), Columns({1, 2, 3, 4, 0}));
    columns.is_delimiter_given = false;
    expect_bad_select("#1-#2", 0, "needs -d ,, and --header repeat or -H, to say whether there is a header: under",
                      columns);
}

// For an option, a correction shows the whole option as it must be typed in a shell; for a file, the text to write
// there.
TEST(ColumnList, AreProposedAsTheyMustBeTyped) {
    const InputColumns columns = header({"id", "they're", "a b", "two\nlines"});
    expect_bad_select("id,theyre", 3, R"(; did you mean --select 'id,they'\''re'?)", columns);
    expect_bad_select("!\"a_b\"", 0, R"(; did you mean --select '!"a b"'?)", columns);
    expect_bad_select("two_lines", 0, R"(; did you mean --select $'"two\x0alines"'?)", columns);
    expect_bad_rule("id,theyre: null", 3, R"(; did you mean --redact 'id,they'\''re: null'?)", columns);
    RuleRequest in_file;
    in_file.rules.push_back({"a_b: null", "r:1"});
    expect_error(in_file, columns, in_file.rules.front(), 0, R"(; did you mean "a b"?)");
    EXPECT_EQ(shell_word("a/b_c.d:e,f=g@h%i+j-k"), "a/b_c.d:e,f=g@h%i+j-k");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("~"), "'~'");
    EXPECT_EQ(shell_word("caf\xC3\xA9"), "'caf\xC3\xA9'");
    EXPECT_EQ(shell_word("x\\'\x7F"), R"($'x\\\'\x7f')");
    EXPECT_EQ(shell_word("\xC2\x9B\xC2\xA0"), "$'\\xc2\\x9b\xC2\xA0'") << "a control character of the second block";
}

TEST(ColumnList, AreRanges) {
    EXPECT_EQ(selected("b-d"), Columns({1, 2, 3}));
    EXPECT_EQ(selected("b-b"), Columns({1}));
    EXPECT_EQ(columns_of("d-e,a-b"), Columns({0, 1, 3, 4}));
    EXPECT_EQ(selected("a-b-c-d", header({"a-b", "x", "c-d"})), Columns({0, 1, 2}));
    EXPECT_EQ(selected("a-d", header({"a-d", "a", "b"})), Columns({0})) << "d is missing, so this is the name";
    EXPECT_EQ(selected("n[2]-z", header({"n", "n", "y", "z"})), Columns({1, 2, 3}));
    expect_bad_select("d-b", 0, "ends before it begins");
    expect_bad_select("a-z", 0, "no column \"a-z\"");
    expect_bad_select("a -b", 2, "expected ',' or the end");
    expect_bad_select("a-c", 0, "a column and also a range", header({"a", "a-c", "c"}));
    EXPECT_EQ(selected("\"a-c\"", header({"a", "a-c", "c"})), Columns({1}));
    expect_bad_rule("b,c-a: null", 2, "a column and also a range", header({"a", "b", "c-a", "c"}));
    expect_bad_select("a-b-c", 0, "several ranges", header({"a", "b-c", "a-b", "c"}));
    expect_bad_select("n-z", 0, "2 columns \"n\"", header({"n", "n", "z"}));
}

TEST(ColumnList, OfOneNameAreToldApart) {
    const InputColumns twice = header({"n", "x", "n", "full name", "full name"});
    EXPECT_EQ(selected("n[2],n[1]", twice), Columns({2, 0}));
    EXPECT_EQ(selected("\"n\"[2], \"full name\"[1]", twice), Columns({2, 3}));
    EXPECT_EQ(selected("x[1]", twice), Columns({1}));
    EXPECT_EQ(selected("n*", twice), Columns({0, 2})) << "a glob is all of them";
    EXPECT_EQ(selected("x[1]", header({"x[1]"})), Columns({0}));
    expect_bad_select("x,n", 2, R"(2 columns "n", numbered from 1; for the first, write --select 'x,"n"[1]')", twice);
    expect_bad_select("\"n\"", 0, "2 columns \"n\"", twice);
    expect_bad_select("n[3]", 0, "there are 2 columns \"n\"", twice);
    expect_bad_select("x[2]", 0, "there is 1 column \"x\"", twice);
    expect_bad_select("n[0]", 0, "counted from 1", twice);
    expect_bad_select("\"n\"[0]", 0, "counted from 1", twice);
    expect_bad_select("n[99999999999999999999999]", 0, "there are 2", twice);
    expect_bad_select("n[]", 0, "no column \"n[]\"", twice);
    expect_bad_select("n[x]", 0, "no column \"n[x]\"", twice);
    expect_bad_select("\"n\"[", 4, "expected a number", twice);
    expect_bad_select("\"n\"[1", 5, "expected ']'", twice);
    expect_bad_select("\"n\" [1]", 4, "expected ',' or the end", twice);
    expect_bad_select("x[1]", 0, "also a number of the columns \"x\"", header({"x", "x[1]"}));
}

TEST(ColumnList, AreGlobs) {
    const InputColumns columns = header({"addr1", "city", "addr2", "my addr", "addr", "a*b"});
    EXPECT_EQ(selected("addr*", columns), Columns({0, 2, 4}));
    EXPECT_EQ(selected("*addr", columns), Columns({3, 4}));
    EXPECT_EQ(selected("*d*d*", columns), Columns({0, 2, 3, 4}));
    EXPECT_EQ(selected("a*r*2", columns), Columns({2}));
    EXPECT_EQ(selected("**", columns), Columns({0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(selected("c*y,\"a*b\"", columns), Columns({1, 5}));
    expect_bad_select("city,x*", 5, "no column matches x*", columns);
    expect_bad_select("addr1,addr*", 6, "\"addr1\" is selected twice", columns);
}

TEST(ColumnList, CanBeExcluded) {
    EXPECT_EQ(selected("!b"), Columns({0, 2, 3, 4}));
    EXPECT_EQ(selected("! b , !d-e,!\"a\""), Columns({2}));
    EXPECT_EQ(selected("!#1-#2,!b"), Columns({2, 3, 4}));
    EXPECT_EQ(selected("d,a-c,!b"), Columns({3, 0, 2}));
    EXPECT_EQ(selected("!b,d,a-c"), Columns({3, 0, 2})) << "of the whole list, wherever it stands";
    EXPECT_EQ(selected("*,!b,a"), Columns({2, 3, 4, 0}));
    EXPECT_EQ(selected("a,!b"), Columns({0}));
    EXPECT_EQ(columns_of("!b"), Columns({0, 2, 3, 4}));
    expect_bad_select("!x", 0, "no column \"x\"");
    expect_bad_select("a,!x*", 2, "no column matches x*");
    expect_bad_select("a,!a", 0, "selects no column");
    expect_bad_select("!a-e", 0, "selects no column");
    expect_bad_select("a,!*", 2, "!* selects no column");
    expect_bad_select("!!a", 1, "expected a column");
}

TEST(ColumnList, HaveARest) {
    EXPECT_EQ(selected("*"), Columns({0, 1, 2, 3, 4}));
    EXPECT_EQ(selected("e,*,a"), Columns({4, 1, 2, 3, 0}));
    EXPECT_EQ(selected("a-e,*"), Columns({0, 1, 2, 3, 4}));
    EXPECT_EQ(selected("*", no_header(2)), Columns({0, 1}));
    EXPECT_EQ(selected("*", no_header(0)), Columns());
    EXPECT_EQ(columns_of("*"), Columns({0, 1, 2, 3, 4}));
    EXPECT_EQ(columns_of("*,a,*"), Columns({0, 1, 2, 3, 4}));
    expect_bad_select("*,a,*", 4, "* is given twice");
}

TEST(ColumnList, AreThoseOfTheManual) {
    const InputColumns columns = header({"id", "name", "street", "city", "ssn"});
    EXPECT_EQ(selected("city,id", columns), Columns({3, 0}));
    EXPECT_EQ(selected("name-city", columns), Columns({1, 2, 3}));
    EXPECT_EQ(selected("ssn,*", columns), Columns({4, 0, 1, 2, 3}));
    EXPECT_EQ(selected("!ssn,!s*", columns), Columns({0, 1, 3}));
    EXPECT_EQ(selected("*,!id,name", columns), Columns({2, 3, 4, 1}));
}

TEST(Select, RefusesWhatIsNoList) {
    expect_bad_select("", 0, "expected a column before the end");
    expect_bad_select("  ", 2, "expected a column before the end");
    expect_bad_select("a,", 2, "expected a column before the end");
    expect_bad_select(",a", 0, "expected a column");
    expect_bad_select("a b", 2, "expected ',' or the end");
    expect_bad_select("a:null", 1, "expected ',' or the end");
    expect_bad_select("\"a", 0, "not closed");
    expect_bad_select("a,b,a", 4, "\"a\" is selected twice");
    expect_bad_select("#1,a", 3, "\"a\" is selected twice");
    expect_bad_select("#1,#1", 3, "#1 is selected twice", no_header(2));
    expect_bad_select("a\x01", 1, "expected ',' or the end");
    expect_bad_select("a\x7f", 1, "expected ',' or the end");
    expect_bad_select(std::string("\0", 1), 0, "expected a column");
}

}  // namespace cleave::test::column_list_test
