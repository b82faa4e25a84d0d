// Dialects: what is refused, what presets mean and what sniffing finds; also the state machine, one byte at a time.
#include <gtest/gtest.h>

#include <algorithm>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "core/dialect/state_machine.h"
#include "inputs.h"
#include "reference.h"

namespace cleave::test::dialect_test {

SniffedDialect sniff(std::string_view text, std::string_view name = "in.csv", const DialectOptions& wanted = {}) {
    return settle_dialect(wanted, bytes_of(text), name);
}

char sniffed_delimiter(std::string_view text, std::string_view name = "in.csv") {
    return static_cast<char>(sniff(text, name).dialect.delimiter);
}

Terminator sniffed_terminator(std::string_view text) { return sniff(text).dialect.terminator; }

TEST(StateMachine, ReadsAsTheReference) {
    for (std::uint64_t seed = 0; seed < rounds(200); ++seed) {
        Random random(seed);
        for (const Dialect& dialect : every_dialect_and_rule()) {
            const std::string text = random_text(random, dialect, random.below(200));
            const StateMachine machine(dialect);
            Reading read;
            if (!text.empty()) read.starts.push_back(0);
            State state = State::kFieldStart;
            for (std::size_t i = 0; i < text.size(); ++i) {
                const Transition& transition = machine.step(state, static_cast<std::uint8_t>(text[i]));
                if (transition.starts_record) read.starts.push_back(i);
                if (transition.opens_quote) read.opens.push_back(i);
                state = transition.next;
            }
            const Reading expected = read_by_rules(text, dialect);
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << describe(dialect) << ": " << shown(text));
            EXPECT_EQ(read.starts, expected.starts);
            EXPECT_EQ(read.opens, expected.opens);
            EXPECT_EQ(is_quoted(state), expected.open_at_end);
        }
    }
}

TEST(StateMachine, StartsRecordsAfterTheStartToo) {
    const StateMachine machine{Dialect{}};
    EXPECT_TRUE(machine.step(State::kRecordStart, 'a').starts_record);
    EXPECT_FALSE(machine.step(State::kFieldStart, 'a').starts_record);
}

TEST(StateMachine, TakesTheRuleThatStandsIn) {
    const StateMachine machine(Dialect{}, Quoting::kAnywhere);
    EXPECT_EQ(machine.step(State::kUnquoted, '"').next, State::kQuoted);
    EXPECT_TRUE(machine.step(State::kUnquoted, '"').opens_quote);
}

TEST(DialectFault, FindsBytesWithTwoRoles) {
    EXPECT_EQ(dialect_fault(Dialect{}), std::nullopt);
    const auto is_faulty = [](auto change) {
        Dialect dialect;
        dialect.escape = '\\';
        change(dialect);
        return dialect_fault(dialect).has_value();
    };
    EXPECT_FALSE(is_faulty([](Dialect&) {}));
    for (const std::uint8_t line_break : {std::uint8_t{'\n'}, std::uint8_t{'\r'}}) {
        EXPECT_TRUE(is_faulty([&](Dialect& dialect) { dialect.delimiter = line_break; }));
        EXPECT_TRUE(is_faulty([&](Dialect& dialect) { dialect.quote = line_break; }));
        EXPECT_TRUE(is_faulty([&](Dialect& dialect) { dialect.escape = line_break; }));
    }
    EXPECT_TRUE(is_faulty([](Dialect& dialect) { dialect.delimiter = '"'; }));
    EXPECT_TRUE(is_faulty([](Dialect& dialect) { dialect.escape = '"'; }));
    EXPECT_TRUE(is_faulty([](Dialect& dialect) { dialect.escape = ','; }));
    // A missing quote and a missing escape do not count as the same byte.
    EXPECT_FALSE(is_faulty([](Dialect& dialect) {
        dialect.quote.reset();
        dialect.escape.reset();
    }));
}

TEST(DialectPreset, ExistsForEveryReader) {
    const auto names = dialect_presets();
    for (const std::string_view name : {"rfc4180", "excel", "python", "pandas", "polars", "arrow", "duckdb", "postgres",
                                        "mysql", "clickhouse", "miller", "tsv", "jsonl"}) {
        EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
        ASSERT_TRUE(dialect_preset(name).has_value()) << name;
        EXPECT_EQ(dialect_fault(dialect_preset(name)->dialect), std::nullopt) << name;
    }
    EXPECT_EQ(names.size(), 13U);
    EXPECT_EQ(dialect_preset("lotus"), std::nullopt);
}

TEST(DialectPreset, ReadsAsItsReader) {
    EXPECT_EQ(dialect_preset("python")->dialect.quoting, Quoting::kFieldStart);
    EXPECT_EQ(dialect_preset("python")->dialect.terminator, Terminator::kAny);
    EXPECT_EQ(dialect_preset("pandas")->dialect, dialect_preset("python")->dialect);
    EXPECT_EQ(dialect_preset("arrow")->dialect, dialect_preset("python")->dialect);
    EXPECT_EQ(dialect_preset("duckdb")->dialect, dialect_preset("python")->dialect);
    EXPECT_EQ(dialect_preset("polars")->dialect.quoting, Quoting::kAnywhere);
    EXPECT_EQ(dialect_preset("polars")->dialect.terminator, Terminator::kLf);
    EXPECT_FALSE(dialect_preset("polars")->sniff_terminator);
    EXPECT_EQ(dialect_preset("miller")->dialect.quoting, Quoting::kFieldStart);
    EXPECT_FALSE(dialect_preset("miller")->sniff_terminator);
    EXPECT_EQ(dialect_preset("excel")->dialect.quoting, Quoting::kFieldStart);
    EXPECT_EQ(dialect_preset("rfc4180")->dialect.delimiter, ',');
    EXPECT_EQ(dialect_preset("postgres")->dialect.quoting, Quoting::kAnywhere);
    EXPECT_TRUE(dialect_preset("postgres")->sniff_terminator);
    EXPECT_EQ(dialect_preset("clickhouse")->dialect.quoting, Quoting::kFieldStart);
    EXPECT_EQ(dialect_preset("clickhouse")->dialect.terminator, Terminator::kLf);
    EXPECT_FALSE(dialect_preset("clickhouse")->sniff_terminator);
    EXPECT_EQ(dialect_preset("mysql")->dialect.delimiter, '\t');
    EXPECT_EQ(dialect_preset("mysql")->dialect.escape, '\\');
    EXPECT_EQ(dialect_preset("mysql")->dialect.escape_scope, EscapeScope::kEverywhere);
    EXPECT_EQ(dialect_preset("tsv")->dialect.delimiter, '\t');
    EXPECT_FALSE(dialect_preset("tsv")->sniff_delimiter);
    EXPECT_EQ(dialect_preset("jsonl")->dialect.quote, std::nullopt);
    EXPECT_EQ(dialect_preset("jsonl")->dialect.header, HeaderRecord::kNone);
}

TEST(SniffDelimiter, TakesTheOneThatFieldCountsAgreeUnder) {
    EXPECT_EQ(sniffed_delimiter("a,b,c\n1,2,3\n4,5,6\n"), ',');
    EXPECT_EQ(sniffed_delimiter("a;b;c\n1,5;2;3\n4,25;5;6\n7;8;9\n"), ';');
    EXPECT_EQ(sniffed_delimiter("a\tb\n1, 2\t3\n4\t5, 6\n7\t8\n"), '\t');
    EXPECT_EQ(sniffed_delimiter("a|b|c\n1|2|3\n"), '|');
}

TEST(SniffDelimiter, TakesTheOneThatExplainsTheQuotes) {
    EXPECT_EQ(sniffed_delimiter("a;b\n\"1,2\";\"3,4\"\n\"5,6\";\"7\n,8\"\n"), ';');
    EXPECT_EQ(sniffed_delimiter("\"a,x\"|\"b,x\"\n\"c,x\"|\"d,x\"\n"), '|');
    EXPECT_EQ(sniff("a;b\n\"1,2\";\"3,4\"\n").doubt, DialectDoubt::kNone);
}

TEST(SniffDelimiter, TakesACommaWhereThereIsNothingToGoBy) {
    for (const std::string_view text : {"", "a\n", "abc", "\n\n\n", "\"a\"\n\"b\"\n"}) {
        EXPECT_EQ(sniffed_delimiter(text), ',') << shown(text);
        EXPECT_EQ(sniff(text).doubt, DialectDoubt::kNone) << shown(text);
    }
}

TEST(SniffDelimiter, TakesTheOneThatSplitsAllRecordsAsTheHeaderWhateverTheQuotes) {
    // The data has a comma before quotes, but the header has none.
    EXPECT_EQ(sniffed_delimiter("k;list;z\n7;[\"x\",\"y\"];1\n8;[\"u\",\"v\"];2\n"), ';');
    EXPECT_EQ(sniffed_delimiter("k\tsaid\n1\tso,\"well\n2\tno\n3\tand,\"then\n"), '\t');
    // Read with commas, two records become one, so fewer quotes are out of place.
    EXPECT_EQ(sniffed_delimiter("k|t|z\n1|m,\"n|1\n2|o\",p|2\n3|q|3\n"), '|');
    // One record in ten may have a different number of fields.
    std::string text = "k;t\n";
    for (int i = 0; i < 18; ++i) text += "1;[\"x\",\"y\"]\n";
    EXPECT_EQ(sniffed_delimiter(text + "1;2;3\n"), ';');
    // Of two such delimiters, the one that puts fewer quotes out of place wins.
    EXPECT_EQ(sniffed_delimiter("k,l;m\n1,\"2;\"\n3,\"4;\"\n"), ',');
}

TEST(SniffDelimiter, TakesNoByteThatSplitsFewRecordsForTheSakeOfAQuote) {
    EXPECT_EQ(sniffed_delimiter("k,l\n1,\t\"u\nv\"\n2,w\n3,x\n"), ',');
}

TEST(SniffDelimiter, CountsAnOpenQuoteAsOneOutOfPlace) {
    EXPECT_EQ(sniffed_delimiter("a,b;c;d\n1,\"x;2;3\n4,y;5;6\n"), ';');
    EXPECT_TRUE(sniff("a,b\n1,\"x\n").fit.ends_in_quotes);
    EXPECT_FALSE(sniff("a,b\n1,\"x\"\n").fit.ends_in_quotes);
}

TEST(SniffDelimiter, LeavesOutEmptyRecords) {
    EXPECT_EQ(sniffed_delimiter("k;l\n\n\n\n1;2\n\n\n"), ';');
    EXPECT_EQ(sniff("k;l\n\n\n\n1;2\n\n\n").fit.empty, 5U);
}

TEST(SniffDelimiter, ReadsByTheTerminatorThatItFinds) {
    const SniffedDialect sniffed = sniff("a,b\rc,d\n1,2,3\n4,5,6\n\n");
    EXPECT_EQ(sniffed.fit.records, 4U);
    EXPECT_EQ(sniffed.fit.agreeing, 3U);
    EXPECT_EQ(sniff("a,\"b\"\r\n1,\"2\"\r\r\n").fit.misplaced_quotes, 0U);
    EXPECT_EQ(sniff("a,\"b\"\r\n1,\"2\"\r\r\n").fit.records, 2U);
    EXPECT_EQ(sniff("a,\"b\"\r1,\"2\"\r").fit.records, 2U);
}

DialectDoubt doubt_about(std::string_view text, std::string_view name = "in.csv") { return sniff(text, name).doubt; }

TEST(SniffDoubt, SaysWhenQuotesAreUnexplained) {
    EXPECT_EQ(doubt_about("a:\"b\":\"c\"\n1:\"2\":\"3\n\"\n"), DialectDoubt::kQuotesUnexplained);
    EXPECT_EQ(doubt_about("a,\"b\"\n1,\"2\"\n"), DialectDoubt::kNone);
}

TEST(SniffDoubt, FindsRecordsThatEndWithoutALineBreak) {
    using namespace std::string_view_literals;
    EXPECT_EQ(doubt_about("k,l\0001,2\0003,4\0"sv), DialectDoubt::kNulTerminator);
    EXPECT_EQ(doubt_about("k\x1Fl\x1E"
                          "1\x1F"
                          "2\n\x1E"
                          "3\x1F"
                          "4\x1E"sv),
              DialectDoubt::kRecordSeparator);
    EXPECT_EQ(doubt_about("k,l\x1F"
                          "1,2\x1F"
                          "3,4\x1F"sv),
              DialectDoubt::kUnitSeparator);
    // These bytes are data, or delimiters.
    EXPECT_EQ(doubt_about("k,l\n1\0,2\n3\0,4\n5,6\n"sv), DialectDoubt::kNone);
    EXPECT_EQ(doubt_about("k\x1Fl\x1Fm\n"
                          "1\x1F"
                          "2\x1F"
                          "3\n"sv),
              DialectDoubt::kNone);
    EXPECT_EQ(doubt_about("\0\0\0k,l\n"sv), DialectDoubt::kNone);
    EXPECT_EQ(doubt_about("k,l\n1,2\n\0\0\0\0"sv), DialectDoubt::kNone);
}

TEST(SniffDoubt, FindsJsonLines) {
    EXPECT_EQ(doubt_about("{\"k\": 1}\n{\"k\": 2}\n"), DialectDoubt::kJsonLines);
    EXPECT_EQ(doubt_about("\r\n { } \r\n"), DialectDoubt::kJsonLines);
    EXPECT_EQ(doubt_about("\xEF\xBB\xBF{\"k\": 1}\n{\"k\": }\n"), DialectDoubt::kJsonLines);
    EXPECT_EQ(doubt_about("[1]\n[2]\n"), DialectDoubt::kJsonLines);
    EXPECT_EQ(doubt_about("[\"a, b\"]\r\n[2]"), DialectDoubt::kJsonLines);
    for (const std::string_view text : {"[]", "[{\"k\": 1}]\n", "[\n1,\n2]\n", "[{\"k\": 1},\n {\"k\": 2}]\n\n"}) {
        EXPECT_EQ(doubt_about(text), DialectDoubt::kJsonArray) << shown(text);
    }
    for (const std::string_view text : {"{\n\"k\": 1}\n", "{\"k\":\r\n1}", "{\"k\":\n1}\n{\"k\":\n2}\n"}) {
        EXPECT_EQ(doubt_about(text), DialectDoubt::kJsonText) << shown(text);
    }
    for (const std::string_view text : {"", "{", "[", "{k},l\n", "{k}\n", "l,{\"k\": 1}\n", "[id],[name]\n1,2\n",
                                        "[1],[2]\n1,2\n", "{},{}\n1,2\n", "[1] \"a\"\n", "{\"k\": 1", "[1,\n"}) {
        for (const DialectDoubt doubt : {DialectDoubt::kJsonLines, DialectDoubt::kJsonArray, DialectDoubt::kJsonText}) {
            EXPECT_NE(doubt_about(text), doubt) << shown(text);
        }
    }
    // The first value is longer than the head.
    const std::string item = R"({"key": "value, and more"},)";
    for (const char* line_end : {"", "\n"}) {
        std::string array = "[";
        while (array.size() < kSniffSize) array += item + line_end;
        EXPECT_EQ(doubt_about(array), DialectDoubt::kJsonArray);
        EXPECT_EQ(doubt_about("{\"k\":" + array), *line_end == 0 ? DialectDoubt::kJsonLines : DialectDoubt::kJsonText);
    }
    EXPECT_EQ(doubt_about("{k," + std::string(kSniffSize, 'a')), DialectDoubt::kNone);
    EXPECT_EQ(doubt_about("[k]," + std::string(kSniffSize, 'a')), DialectDoubt::kNone);
    DialectOptions wanted;
    wanted.dialect.quote.reset();
    EXPECT_EQ(sniff("{\"k\": 1}\n", "in.csv", wanted).doubt, DialectDoubt::kNone);
}

TEST(SniffDoubt, FindsQuotesThatBackslashesEscape) {
    EXPECT_EQ(doubt_about("k,t\n1,\"a \\\"b\\\", c\"\n"), DialectDoubt::kEscapedQuotes);
    EXPECT_EQ(doubt_about("t,k\n\"a\\b\\\",1\n\"c\\\",2\n"), DialectDoubt::kNone) << "backslashes that are data";
    DialectOptions wanted;
    wanted.dialect.escape = '\\';
    EXPECT_EQ(sniff("k,t\n1,\"a \\\"b\\\", c\"\n", "in.csv", wanted).doubt, DialectDoubt::kNone);
}

TEST(SniffDoubt, FindsQuotesBetweenTabsThatAreData) {
    EXPECT_EQ(doubt_about("k\tt\n1\t\"a\n2\tb\n3\t\"c\" d\n", "in.tsv"), DialectDoubt::kPlainQuotes);
    EXPECT_EQ(doubt_about("k\tt\n1\t\"a\n2\tb\n", "in.tsv"), DialectDoubt::kPlainQuotes);
    EXPECT_EQ(doubt_about("k\tt\n1\t\"a\nb\"\n2\tc\n", "in.tsv"), DialectDoubt::kNone);
    EXPECT_EQ(doubt_about("k\tt\n1\t\"a\" b\n", "in.tsv"), DialectDoubt::kNone) << "the records are the same";
}

TEST(SniffDelimiter, SaysWhy) {
    const SniffedDialect fits = sniff(
        "\xEF\xBB\xBF"
        "a;b\n\"1\";\"2\"\n3;4;5\n\n6;7");
    EXPECT_EQ(fits.delimiter_reason, DelimiterReason::kFit);
    EXPECT_EQ(fits.fit.records, 5U);
    EXPECT_EQ(fits.fit.fields, 2U);
    EXPECT_EQ(fits.fit.agreeing, 3U);
    EXPECT_EQ(fits.fit.quotes, 2U);
    EXPECT_EQ(fits.fit.misplaced_quotes, 0U);
    EXPECT_EQ(sniff("a;\"b\"c\n1;2\"\n").fit.misplaced_quotes, 2U);
    EXPECT_EQ(sniff("a\nb\n").delimiter_reason, DelimiterReason::kDefault);
    EXPECT_EQ(sniff("a\n1,\t\"x\ny\"\n2\n3\n").delimiter_reason, DelimiterReason::kQuotes);
    EXPECT_EQ(sniff("a;b\n", "in.tsv").delimiter_reason, DelimiterReason::kName);
    DialectOptions wanted;
    wanted.sniff_delimiter = false;
    EXPECT_EQ(sniff("a;b\n", "in.tsv", wanted).delimiter_reason, DelimiterReason::kGiven);
}

TEST(SniffTerminator, SaysWhereTheFirstOneIs) {
    EXPECT_EQ(sniff("a,\"\n\"\nb\n").terminator_offset, 5U);
    EXPECT_EQ(sniff("\xEF\xBB\xBF"
                    "a\r\nb")
                  .terminator_offset,
              4U);
    EXPECT_EQ(sniff("a\rb").terminator_offset, 1U);
    EXPECT_EQ(sniff("a\rb\r\nc\n").terminator_offset, 3U);
    EXPECT_EQ(sniff("a,b").terminator_offset, std::nullopt);
    DialectOptions wanted;
    wanted.sniff_terminator = false;
    EXPECT_EQ(sniff("a\n", "in.csv", wanted).terminator_offset, std::nullopt);
}

TEST(SniffDelimiter, BelievesTheFileName) {
    EXPECT_EQ(sniffed_delimiter("a,b\n1,2\n", "in.tsv"), '\t');
    EXPECT_EQ(sniffed_delimiter("a,b\n1,2\n", "in.tab"), '\t');
    EXPECT_EQ(sniffed_delimiter("a,b\n1,2\n", "tsv"), ',');
}

TEST(SniffDelimiter, ReadsJsonLinesByTheFileName) {
    const Dialect expected = dialect_preset("jsonl")->dialect;
    for (const std::string_view name : {"in.jsonl", "in.ndjson"}) {
        EXPECT_EQ(sniff("{\"k\": \"a,\"}\n", name).dialect, expected);
        EXPECT_EQ(sniff("{\"k\": 1}\n", name).delimiter_reason, DelimiterReason::kName);
        EXPECT_EQ(sniff("{\"k\": 1}\n", name).doubt, DialectDoubt::kNone);
    }
    DialectOptions wanted;
    wanted.dialect.terminator = Terminator::kAny;
    wanted.sniff_terminator = false;
    EXPECT_EQ(sniff("1\n", "in.jsonl", wanted).dialect.quote, std::nullopt);
    EXPECT_EQ(sniff("1\n", "in.jsonl", wanted).dialect.terminator, Terminator::kAny);
    wanted.dialect.quote = '\'';
    EXPECT_EQ(sniff("a;b\n", "in.jsonl", wanted).dialect.delimiter, ';');
    EXPECT_EQ(sniff("a;b\n", "jsonl").dialect.delimiter, ';');
}

TEST(SniffDelimiter, GivesNoByteTwoRolesForTheFileName) {
    DialectOptions wanted;
    wanted.dialect.quote = '\t';
    EXPECT_EQ(sniff("a;b\n\t1,\t;2\n", "in.tsv", wanted).dialect.delimiter, ';');
    wanted.dialect.quote.reset();
    wanted.dialect.escape = '\t';
    EXPECT_EQ(sniff("a|b\n1|2\n", "in.tab", wanted).dialect.delimiter, '|');
}

TEST(SniffDelimiter, LooksPastTheByteOrderMark) {
    EXPECT_EQ(sniffed_delimiter("\xEF\xBB\xBF\"a,x\";b\n\"c,x\";d\n"), ';');
}

TEST(SniffTerminator, TakesCrOnlyIfNoLfStandsOutsideQuotes) {
    EXPECT_EQ(sniffed_terminator("a\nb\rc\r"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator("a\rb\nc\n"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator("a\r\nb\r\n"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator("a\r\r\nb\r\r\n"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator("a\r\rb\r\r"), Terminator::kCr);
    EXPECT_EQ(sniffed_terminator("\"\r\",b\nc\r"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator("\"\n\",b\rc\r"), Terminator::kCr);
    EXPECT_EQ(sniffed_terminator("\xEF\xBB\xBF\"\n\",b\rc\r"), Terminator::kCr);
    EXPECT_EQ(sniffed_terminator("abc\r"), Terminator::kCr);
    EXPECT_EQ(sniffed_terminator("abc"), Terminator::kLf);
    EXPECT_EQ(sniffed_terminator(""), Terminator::kLf);
}

TEST(SniffTerminator, CountsTheCrsThatEndNothing) {
    const auto lone = [](std::string_view text, const DialectOptions& wanted = {}) {
        const LoneReturns returns = sniff(text, "in.csv", wanted).lone_returns;
        EXPECT_EQ(returns.first.has_value(), returns.count > 0) << shown(text);
        return std::pair(returns.count, returns.first.value_or(0));
    };
    using Found = std::pair<std::size_t, std::uint64_t>;
    EXPECT_EQ(lone("a\r\nb\r\r\nc\n"), Found(0, 0));
    EXPECT_EQ(lone("a\rb\nc\r\rd\r\n"), Found(3, 1));
    EXPECT_EQ(lone("a,b\n1,\r2\n\"\r\",3\n\"x\"\r,4\r"), Found(3, 6));
    EXPECT_EQ(lone("\xEF\xBB\xBF"
                   "a\rb\n"),
              Found(1, 4));
    EXPECT_EQ(lone("a\rb\r"), Found(0, 0)) << "they end records";
    DialectOptions wanted;
    wanted.sniff_terminator = false;
    EXPECT_EQ(lone("a\rb\n", wanted), Found(0, 0)) << "lf was given";
    const std::string filled = std::string(kSniffSize - 2, 'a');
    EXPECT_EQ(lone(filled + "\n\r" + "\nb"), Found(0, 0)) << "half a CRLF";
}

TEST(SniffTerminator, LooksAtTheHeadAlone) {
    const std::string head(kSniffSize - 1, 'a');
    EXPECT_EQ(sniffed_terminator(head + "\r" + "\n"), Terminator::kLf) << "half a CRLF is no CR";
    EXPECT_EQ(sniffed_terminator(head + "aa" + "\rb"), Terminator::kLf) << "out of sight";
    EXPECT_EQ(sniffed_terminator(head.substr(1) + "\rb\rc"), Terminator::kCr);
}

TEST(Sniff, LeavesAloneWhatIsSettled) {
    DialectOptions wanted;
    wanted.sniff_delimiter = wanted.sniff_terminator = false;
    wanted.dialect.delimiter = ':';
    wanted.dialect.terminator = Terminator::kAny;
    EXPECT_EQ(sniff("a;b\r1;2\r", "in.tsv", wanted).dialect, wanted.dialect);
    wanted.sniff_delimiter = true;
    EXPECT_EQ(sniff("a;b\r1;2\r", "in.csv", wanted).dialect.delimiter, ';');
    EXPECT_EQ(sniff("a;b\r1;2\r", "in.csv", wanted).dialect.terminator, Terminator::kAny);
}

TEST(BomSize, IsThatOfUtf8) {
    EXPECT_EQ(bom_size(bytes_of("\xEF\xBB\xBF")), 3U);
    EXPECT_EQ(bom_size(bytes_of("\xEF\xBB\xBF"
                                "a")),
              3U);
    for (const std::string_view text : {"", "\xEF", "\xEF\xBB", "\xEF\xBB\xBE", "a\xEF\xBB\xBF", "\xFF\xFE"}) {
        EXPECT_EQ(bom_size(bytes_of(text)), 0U) << shown(text);
    }
}

// A preamble as settle_dialect() finds it.
struct Preambles {
    const char* text;
    std::uint64_t lines;
    const char* comment;
    std::uint64_t size;
};

constexpr Preambles kPreambles[] = {
    {"", 0, "", 0},
    {"", 3, "#", 0},
    {"a\nb\nc\n", 0, "", 0},
    {"a\nb\nc\n", 1, "", 2},
    {"a\nb\nc\n", 2, "", 4},
    {"a\nb\nc\n", 9, "", 6},
    {"a\r\n\"b\r\nc\r\n", 2, "", 7},
    {"a\r\"b\rc\r", 2, "", 5},
    {"\xEF\xBB\xBF"
     "a\nb\n",
     1, "", 5},
    {"\xEF\xBB\xBF", 1, "", 0},
    {"#1\n#2\nb\n#3\n", 0, "#", 6},
    {"#1\n\n\r\n#2\nb\n", 0, "#", 9},
    {"\n#1\n\nb\n", 0, "#", 4},
    {"#1\n#2", 0, "#", 5},
    {"\xEF\xBB\xBF#1\nb\n", 0, "#", 6},
    {"a\n#1\nb\n", 1, "#", 5},
    {"#1\n#2\n#3\nb\n", 1, "#", 9},
    {"//1\n/2\n", 0, "//", 4},
    {"sep=;\na;b\n", 0, "", 6},
    {"sep=;\na;b\n", 1, "", 6},
    {"sep=;\na;b\n", 2, "", 10},
    {"sep=;\n#1\na;b\n", 0, "#", 9},
    {"\xEF\xBB\xBF\"sep=\t\"\r\na\tb\n", 0, "", 12},
    {"SEP=|\ra|b\r", 0, "", 6},
    {"sep=;", 0, "", 5},
    {"sep=\na\n", 0, "", 0},
    {"sep=;;\na\n", 0, "", 0},
    {"sep=\"\na\n", 0, "", 0},
    {"\"sep=;\na\n", 0, "", 0},
    {"a\nsep=;\n", 0, "", 0},
    {"a\nsep=;\n", 1, "", 2},
};

TEST(Preamble, EndsWhereTheOptionsSay) {
    for (const auto& [text, lines, comment, size] : kPreambles) {
        DialectOptions wanted;
        wanted.preamble.lines = lines;
        wanted.preamble.comment = comment;
        EXPECT_EQ(sniff(text, "in.csv", wanted).dialect.preamble, size) << shown(text) << ' ' << lines << comment;
    }
}

TEST(Preamble, OfALineNamesTheDelimiter) {
    const SniffedDialect sniffed = sniff("sep=|\na,b|c,d\n");
    EXPECT_EQ(sniffed.dialect.delimiter, '|');
    EXPECT_EQ(sniffed.delimiter_reason, DelimiterReason::kLine);
    DialectOptions wanted;
    wanted.sniff_delimiter = false;
    EXPECT_EQ(sniff("sep=|\na,b|c,d\n", "in.csv", wanted).dialect.delimiter, ',');
    EXPECT_EQ(sniff("sep=|\na,b|c,d\n", "in.csv", wanted).dialect.preamble, 0U) << "the options say otherwise";
    EXPECT_EQ(sniff("sep=,\na,b|c,d\n", "in.csv", wanted).dialect.preamble, 6U);
    const DialectOptions excel = dialect_preset("excel").value();
    EXPECT_EQ(sniff("sep=|\na,b|c,d\n", "in.csv", excel).dialect.delimiter, '|');
    const DialectOptions pandas = dialect_preset("pandas").value();
    EXPECT_EQ(sniff("sep=|\na,b|c,d\n", "in.csv", pandas).dialect.preamble, 0U);
}

// The contents of a preamble say nothing about the records.
TEST(Preamble, IsNotSniffed) {
    DialectOptions wanted;
    wanted.preamble.lines = 2;
    const SniffedDialect sniffed = sniff("\"a,b,c,d\n,,,,\nx;y\n1;2\n", "in.csv", wanted);
    EXPECT_EQ(sniffed.dialect.delimiter, ';');
    EXPECT_EQ(sniffed.dialect.terminator, Terminator::kLf);
    EXPECT_EQ(sniffed.terminator_offset, 8U);
}

// A preamble's lines end with the given terminator, wherever the sniffed head ends.
TEST(Preamble, EndsAsRecordsDo) {
    DialectOptions wanted;
    wanted.preamble.lines = 1;
    wanted.sniff_terminator = false;
    for (const auto& [terminator, size] :
         {std::pair(Terminator::kLf, 4U), std::pair(Terminator::kCr, 2U), std::pair(Terminator::kAny, 2U)}) {
        wanted.dialect.terminator = terminator;
        EXPECT_EQ(sniff("a\rb\nc\n", "in.csv", wanted).dialect.preamble, size);
    }
    EXPECT_EQ(sniff("a\r\nb\n", "in.csv", wanted).dialect.preamble, 3U);
    EXPECT_THROW(sniff(std::string(kSniffSize, 'a'), "in.csv", wanted), InputError);
}

TEST(Preamble, IsGuessedByItsFields) {
    EXPECT_EQ(sniff("t\n\nx,y,z\n1,2,3\n4,5,6\n").lines_like_preamble, 2U);
    EXPECT_EQ(sniff("t,u\nx,y,z\n1,2,3\n4,5,6\n").lines_like_preamble, 0U);
    EXPECT_EQ(sniff("x,y,z\nt\n1,2,3\n4,5,6\n").lines_like_preamble, 0U);
    EXPECT_EQ(sniff("\"t\n\"\nx,y,z\n1,2,3\n4,5,6\n").lines_like_preamble, 0U);
}

std::vector<std::string> values(std::string_view record, const Dialect& dialect = {}) {
    return field_values(bytes_of(record), dialect);
}

using Values = std::vector<std::string>;

TEST(FieldValues, AreWhatStandsInQuotes) {
    EXPECT_EQ(values(""), Values{""});
    EXPECT_EQ(values("a,b\nc"), (Values{"a", "b"}));
    EXPECT_EQ(values(",\r\n"), (Values{"", ""}));
    EXPECT_EQ(values("\"a,\r\nb\",\"\"\"c\"\"\",\"\"\r\n"), (Values{"a,\r\nb", "\"c\"", ""}));
    EXPECT_EQ(values("5\" x,\"a\"b\"\n"), (Values{"5\" x", "ab\""}));
    EXPECT_EQ(values("a\rb,c\r"), (Values{"a\rb", "c\r"}));
}

TEST(FieldValues, FollowTheDialect) {
    Dialect dialect;
    dialect.escape = '\\';
    dialect.delimiter = ';';
    EXPECT_EQ(values("a\\;b;\"c\\\"d\";\\\\\n", dialect), (Values{"a;b", "c\"d", "\\"}));
    EXPECT_EQ(values("a\\\r\n", dialect), Values{"a\r"});
    dialect.escape_scope = EscapeScope::kQuoted;
    EXPECT_EQ(values("a\\;\"\\\"\"\n", dialect), (Values{"a\\", "\""}));
    dialect.quoting = Quoting::kAnywhere;
    EXPECT_EQ(values("a\"b;c\"d\n", dialect), Values{"ab;cd"});
    dialect.terminator = Terminator::kAny;
    EXPECT_EQ(values("a;b\r\n", dialect), (Values{"a", "b"}));
    dialect.quote.reset();
    EXPECT_EQ(values("\"a;b\"\r", dialect), (Values{"\"a", "b\""}));
}

}  // namespace cleave::test::dialect_test
