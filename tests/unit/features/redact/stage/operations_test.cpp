// Operations in rules: every row of their table is checked against results written by hand, and random values against a
// second, simple implementation.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "cleave/keys.h"
#include "features/redact/stage/rule_scope.h"
#include "inputs.h"
#include "operations.h"

namespace cleave::test::operations_test {

constexpr const char* kNull = "(null)";

class Operations : public testing::Test {
protected:
    Operation make(std::string_view text) {
        RuleScope scope(uses_);
        Operation operation = make_operation(syntax_of(text), scope);
        hasher_ = Hasher(ring_, uses_);
        return operation;
    }

    std::string apply(const Operation& operation, std::string_view value) {
        return applied(operation, value, hasher_).value_or(kNull);
    }
    std::string apply(std::string_view text, std::string_view value) { return apply(make(text), value); }

    // Expects this message, and expects the text from the error's position onwards to be `from_place`.
    void expect_refused(const std::string& text, const std::string& reason, const std::string& from_place) {
        try {
            make(text);
            ADD_FAILURE() << text << " is taken";
        } catch (const SyntaxError& error) {
            EXPECT_EQ(error.what(), reason) << text;
            EXPECT_EQ(text.substr(error.place()), from_place) << text;
        }
    }

private:
    static KeyRing make_ring() {
        ::setenv("OPERATIONS_TEST_KEY", "0123456789abcdef0123456789abcdef", 1);
        return KeyRing(std::vector<std::string>{"pii=env:OPERATIONS_TEST_KEY"});
    }

    KeyRing ring_ = make_ring();
    KeyUses uses_{ring_.names()};
    Hasher hasher_;
};

TEST_F(Operations, KeepNullAndFixed) {
    EXPECT_EQ(apply("keep", "a \xFF\"b"), "a \xFF\"b");
    EXPECT_EQ(apply("keep()", ""), "");
    EXPECT_EQ(apply("null", "a"), kNull);
    EXPECT_EQ(apply("null()", ""), kNull);
    EXPECT_EQ(apply("fixed(X X)", "John Doe"), "X X");
    EXPECT_EQ(apply("fixed(\"\")", "John"), "");
    EXPECT_EQ(apply("fixed(x)", ""), "x");
    for (std::size_t size = 1; size <= 70; ++size) {
        std::string text;
        for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i % 26);
        EXPECT_EQ(apply("fixed(" + text + ")", "a"), text);
        EXPECT_EQ(apply("keep", text), text);
        EXPECT_EQ(apply("mask", text), std::string(size, '*'));
    }
    const std::string longest(4096, 'x');
    EXPECT_EQ(apply("fixed(" + longest + ")", "a"), longest);
}

TEST_F(Operations, Hmac) {
    EXPECT_EQ(apply("hmac(pii)", "ann"), "B9tbS7pf71PHY_GpyxroLA");
    EXPECT_EQ(apply("hmac(pii, bytes=8)", "ann"), "B9tbS7pf71M");
    EXPECT_EQ(apply("hmac(pii, bytes=32)", "ann"), "B9tbS7pf71PHY_GpyxroLPv3WTev8pf4jnl76_Cb_ZU");
    EXPECT_EQ(apply("hmac(pii, form=hex)", "ann"), "07db5b4bba5fef53c763f1a9cb1ae82c");
    EXPECT_EQ(apply("hmac(pii, form=hex, bytes=9)", "ann"), "07db5b4bba5fef53c7");
    EXPECT_EQ(apply("hmac(pii, form=decimal)", "ann"), "566146558972653395");
    EXPECT_EQ(apply("hmac(pii, context=mails)", "ann"), "ctOHzkU-OTxMGCSaV3mSRQ");
    EXPECT_EQ(apply("hmac(pii, lower)", "ANN"), "B9tbS7pf71PHY_GpyxroLA");
    EXPECT_EQ(apply("hmac(pii, trim)", " \t\n\v\f\rann\r\f\v\n\t "), "B9tbS7pf71PHY_GpyxroLA");
    EXPECT_EQ(apply("hmac(pii, trim, lower)", " aNn "), "B9tbS7pf71PHY_GpyxroLA");
    EXPECT_NE(apply("hmac(pii, trim)", "Ann"), apply("hmac(pii, trim)", "ann"));
    EXPECT_NE(apply("hmac(pii, lower)", "ann "), apply("hmac(pii, lower)", "ann"));
    EXPECT_EQ(apply("hmac(pii)", ""), "eWzTB4rxRjZ1PSaztVVUIg");
    EXPECT_EQ(apply("hmac(pii, trim)", "  "), "eWzTB4rxRjZ1PSaztVVUIg");
    // Values around and above the size of the part that is lowercased at once.
    for (const std::size_t size : {255U, 256U, 257U, 1000U}) {
        EXPECT_EQ(apply("hmac(pii, lower)", std::string(size, 'Q')), apply("hmac(pii)", std::string(size, 'q')));
    }
    EXPECT_EQ(apply("hmac(pii, lower)", "@[`{\xC3\x84"), apply("hmac(pii)", "@[`{\xC3\x84"));
}

TEST_F(Operations, Mask) {
    EXPECT_EQ(apply("mask", "secret"), "******");
    EXPECT_EQ(apply("mask(char=#)", "secret"), "######");
    EXPECT_EQ(apply("mask(first=1, last=2)", "secret"), "s***et");
    EXPECT_EQ(apply("mask(first=4, last=2)", "secret"), "******");
    EXPECT_EQ(apply("mask(first=3, last=2)", "secret"), "sec*et");
    EXPECT_EQ(apply("mask(first=1000000)", "secret"), "******");
    EXPECT_EQ(apply("mask(last=1, char=\" \")", "secret"), "     t");
    EXPECT_EQ(apply("mask(first=1, last=1)", "\xC3\x84\xE2\x82\xAC\xF0\x9F\x98\x80z\xC3\xB6"), "\xC3\x84***\xC3\xB6");
    // Overlong forms, surrogates, code points above U+10FFFF and truncated sequences: each byte is a character.
    EXPECT_EQ(apply("mask", "\xC0\x80"), "**");
    EXPECT_EQ(apply("mask", "\xE0\x9F\xBF"), "***");
    EXPECT_EQ(apply("mask", "\xE0\xA0\x80"), "*");
    EXPECT_EQ(apply("mask", "\xED\xA0\x80"), "***");
    EXPECT_EQ(apply("mask", "\xED\x9F\xBF"), "*");
    EXPECT_EQ(apply("mask", "\xF0\x8F\xBF\xBF"), "****");
    EXPECT_EQ(apply("mask", "\xF4\x90\x80\x80"), "****");
    EXPECT_EQ(apply("mask", "\xF4\x8F\xBF\xBF"), "*");
    EXPECT_EQ(apply("mask", "\xE2\x82"), "**");
    EXPECT_EQ(apply("mask(last=1)", "ab\xFF"), "**\xFF");
}

TEST_F(Operations, NamesOfPersons) {
    EXPECT_EQ(apply("initials", "Ann Mary Lee"), "A.M.L.");
    EXPECT_EQ(apply("initials", "  Ann   Lee "), "A.L.");
    EXPECT_EQ(apply("initials", "\xC3\x84nne \xE2\x82\xAC \xFFx"), "\xC3\x84.\xE2\x82\xAC.\xFF.");
    EXPECT_EQ(apply("initials", "a b c d"), "a.b.c.d.");
    EXPECT_EQ(apply("initials", "   "), "");
    EXPECT_EQ(apply("initials", ""), "");
    EXPECT_EQ(apply("initials", "Ann\tLee"), "A.");
    EXPECT_EQ(apply("short-name", "John Doe"), "D John");
    EXPECT_EQ(apply("short-name", "John  Doe"), "  John");
    EXPECT_EQ(apply("short-name", "John \xC3\x96z Doe"), "\xC3\x96 John");
    for (const char* value : {"John", " John", "John ", " ", "", "J"}) {
        EXPECT_EQ(apply("short-name", value), "X X") << value;
    }
}

TEST_F(Operations, Email) {
    EXPECT_EQ(apply("email(local=mask)", "ann@example.org"), "***@example.org");
    EXPECT_EQ(apply("email(local=mask)", "\xC3\xA4nn@x"), "***@x");
    EXPECT_EQ(apply("email(local=mask())", "a@b@c-1.d1"), "***@c-1.d1");
    EXPECT_EQ(apply("email(local=hmac(pii))", "ann@example.org"), "B9tbS7pf71PHY_GpyxroLA@example.org");
    EXPECT_EQ(apply("email(local=hmac(pii, form=hex, bytes=8, lower))", "ANN@X.org"), "07db5b4bba5fef53@X.org");
    EXPECT_EQ(apply("email(local=hmac(pii, form=decimal))", "ann@x"), "566146558972653395@x");
    for (const char* value : {"@", "@x.org", "ann@", "ann", "a@b_c", "a@b c", "a@b@", "@@", "a@b/c", "a@b[c",
                              "a@b:", "a@4711", "a@b.4711", "a@b.", "a@.", "a@-b", ""}) {
        EXPECT_EQ(apply("email(local=mask)", value), std::string(std::string_view(value).size(), '*')) << value;
        EXPECT_EQ(apply("email(local=hmac(pii))", value), std::string(std::string_view(value).size(), '*')) << value;
    }
}

TEST_F(Operations, Date) {
    const std::vector<std::string> taken = {"2024-05-17",
                                            "2024-05-17T10:11",
                                            "2024-05-17 23:59:60",
                                            "2024-05-17T00:00:00.1",
                                            "2024-05-17T10:11Z",
                                            "2024-05-17T10:11:12.123456789+02:00",
                                            "2024-05-17 10:11-0200",
                                            "2024-05-17 10:11:12+23",
                                            "2024-05-17T10:11+23:59",
                                            "2000-02-29",
                                            "0000-02-29",
                                            "2024-02-29",
                                            "9999-12-31",
                                            "0000-01-01",
                                            "2023-07-31",
                                            "2023-08-31",
                                            "2023-04-30"};
    for (const std::string& value : taken) {
        EXPECT_EQ(apply("date(year)", value), value.substr(0, 4)) << value;
        EXPECT_EQ(apply("date(month)", value), value.substr(0, 7)) << value;
        EXPECT_EQ(apply("date(day)", value), value.substr(0, 10)) << value;
    }
    for (const char* value : {"",
                              "2024",
                              "2024-05",
                              "2024-5-17",
                              "2024-05-17 ",
                              " 2024-05-17",
                              "2024-05-17T",
                              "2024-05-17t10:11",
                              "2024-05-17T10",
                              "2024-05-17T24:00",
                              "2024-05-17T10:60",
                              "2024-05-17T10:11:61",
                              "2024-05-17T10:11:12,5",
                              "2024-05-17T10:11:12.",
                              "2024-05-17T10:11:",
                              "2024-05-17T10:11.5",
                              "2024-05-17T10:11z",
                              "2024-05-17Z",
                              "2024-05-17T10:11+2",
                              "2024-05-17T10:11+24",
                              "2024-05-17T10:11+02:60",
                              "2024-05-17T10:11+02:0",
                              "2024-05-17T10:11+020",
                              "2024-05-17T10:11ZZ",
                              "2024-05-17  10:11",
                              "2024-00-17",
                              "2024-13-17",
                              "2024-05-00",
                              "2024-05-32",
                              "2023-02-29",
                              "1900-02-29",
                              "2100-02-29",
                              "2024-02-30",
                              "2023-04-31",
                              "2023-09-31",
                              "17.05.2024",
                              "2024/05/17",
                              "20240517xx",
                              "+024-05-17",
                              "2024-05-1x",
                              "2O24-05-17"}) {
        EXPECT_EQ(apply("date(day)", value), kNull) << value;
    }
}

TEST_F(Operations, Bucket) {
    const std::vector<std::vector<std::string>> rows = {
        {"10", "17", "10"},
        {"10", "-3", "-10"},
        {"10", "-10", "-10"},
        {"10", "-10.0", "-10"},
        {"10", "-10.01", "-20"},
        {"10", "0", "0"},
        {"10", "-0", "0"},
        {"10", "-0.0", "0"},
        {"10", "+9.99", "0"},
        {"10", "007", "0"},
        {"10", "00000000000000000000000000000000000019", "10"},
        {"5.0", "17", "15.0"},
        {"0.05", "0.1299", "0.10"},
        {"0.05", "-0.01", "-0.05"},
        {"0.1", "3", "3.0"},
        {"2.50", "99999.99", "99997.50"},
        {"0.3", "1", "0.9"},
        {"010", "25", "20"},
        {"1", "-99.5", "-100"},
        {"1000000", "-1", "-1000000"},
        {"999999999999999999", "-1", "-999999999999999999"},
        {"999999999999999999", "-999999999999999999.5", "-1999999999999999998"},
        {"7", "100000000000000000000000000000", "99999999999999999999999999995"},
        {"1000", "-99999999999999999999999999999", "-100000000000000000000000000000"},
        {"500000000000000000", "1000000000000000001", "1000000000000000000"},
        {"999999999999999999", "1000000000000000000", "999999999999999999"},
        {"3", "1000000000000000000", "999999999999999999"},
        {"0.00000000000000001", "12345678901234567890.123456789012345678", "12345678901234567890.12345678901234567"},
        {"0.00000000000000003", "10", "9.99999999999999999"}};
    for (const auto& row : rows) EXPECT_EQ(apply("bucket(" + row[0] + ")", row[1]), row[2]) << row[0] << ' ' << row[1];
    for (const char* value :
         {"", "-", "+", ".", "1.", ".5", "1e3", "1,000", " 1", "1 ", "--1", "+-1", "1.2.3", "0x1", "-.5"}) {
        EXPECT_EQ(apply("bucket(10)", value), kNull) << value;
    }
}

TEST_F(Operations, RefuseArguments) {
    expect_refused("shout(1)",
                   "unknown operation \"shout\"; there are keep, null, fixed, hmac, mask, initials, short-name, email, "
                   "date, bucket, round, top, form, pick, shift-date, noise, generalise, encrypt, decrypt, suppress",
                   "shout(1)");
    expect_refused("keep(1)", "keep takes no arguments but empty=change", "1)");
    expect_refused("initials(a=1)", "initials takes no arguments but empty=change", "a=1)");
    expect_refused("fixed", "fixed needs the text: fixed(TEXT)", "fixed");
    expect_refused("fixed(a, b)", "fixed has no argument \"b\": fixed(TEXT)", "b)");
    expect_refused("fixed(" + std::string(4097, 'x') + ")", "the text has more than 4096 bytes",
                   std::string(4097, 'x') + ")");
    expect_refused("hmac(other)", "there is no key with the name \"other\"; give it by --key other=file:PATH",
                   "other)");
    expect_refused("hmac(key=pii)", "the first argument of hmac is the name of a key", "key=pii)");
    expect_refused("hmac(pii, bytes=7)", "bytes is a number from 8 to 32", "bytes=7)");
    expect_refused("hmac(pii, bytes=33)", "bytes is a number from 8 to 32", "bytes=33)");
    expect_refused("hmac(pii, bytes=1x)", "bytes is a number from 8 to 32", "bytes=1x)");
    expect_refused("hmac(pii, bytes=9, form=decimal)", "form=decimal has no bytes", "bytes=9, form=decimal)");
    expect_refused("hmac(pii, form=octal)", "form is base64url, hex or decimal", "form=octal)");
    expect_refused("hmac(pii, context=\"\")", "the context is empty", "context=\"\")");
    expect_refused("hmac(pii, trim, trim)", "trim is given twice", "trim)");
    expect_refused("hmac(pii, form=hex, form=hex)", "form is given twice", "form=hex)");
    expect_refused("mask(first=1000001)", "first is a number from 0 to 1000000", "first=1000001)");
    expect_refused("mask(first=99999999999999999999999)", "first is a number from 0 to 1000000",
                   "first=99999999999999999999999)");
    expect_refused("mask(char=ab)", "char is one printable ASCII character", "char=ab)");
    expect_refused("mask(char=\xC3)", "char is one printable ASCII character", "char=\xC3)");
    expect_refused("mask(middle=1)", "mask has no argument \"middle\": mask(first=N, last=N, char=C)", "middle=1)");
    expect_refused("email", "email needs local=mask or local=hmac(KEY)", "email");
    expect_refused("email(local=hmac)", "local is mask or hmac(KEY)", "local=hmac)");
    expect_refused("email(local=mask(first=1))", "local is mask or hmac(KEY)", "local=mask(first=1))");
    expect_refused("date(week)", "a date is cut to year, month or day", "week)");
    for (const char* width : {"0", "0.0", "x", "-1", "1.", ".5", "1.2.3", "1234567890123456789", "1e3"}) {
        for (const std::string name : {"bucket", "round"}) {
            const bool is_zero = width[0] == '0';
            expect_refused(
                name + "(" + width + ")",
                is_zero ? "the width is above 0" : "expected a decimal number of at most 18 digits, without a sign",
                std::string(width) + ")");
        }
    }
    expect_refused("top(-1)", "expected a decimal number of at most 18 digits, without a sign", "-1)");
    expect_refused("hmac(pii, prefix)", "prefix needs version=2", "hmac(pii, prefix)");
    expect_refused("hmac(pii, version=3)", "version is a number from 1 to 2", "version=3)");
    expect_refused("form(other)", "there is no key with the name \"other\"; give it by --key other=file:PATH",
                   "other)");
    expect_refused("noise(pii, by=a)", "noise needs sd=NUMBER, the standard deviation", "noise(pii, by=a)");
    expect_refused("noise(pii, sd=1)", "noise needs by=COLUMN, which tells records apart", "noise(pii, sd=1)");
    expect_refused("shift-date(pii)", "shift-date needs by=COLUMN, the column that says whose date it is",
                   "shift-date(pii)");
    expect_refused("pick(pii)", "pick needs the name of a file: pick(KEY, FILE, context=TEXT)", "pick(pii)");
}

TEST_F(Operations, Round) {
    const std::vector<std::array<const char*, 3>> cases = {{"10", "44", "40"},
                                                           {"10", "45", "50"},
                                                           {"10", "-45", "-50"},
                                                           {"10", "44.999", "40"},
                                                           {"10", "4", "0"},
                                                           {"10", "-4", "0"},
                                                           {"7", "3", "0"},
                                                           {"7", "3.5", "7"},
                                                           {"7", "3.49", "0"},
                                                           {"0.5", "0.25", "0.5"},
                                                           {"0.5", "-0.249", "0.0"},
                                                           {"0.25", "+1.375", "1.50"},
                                                           {"1", "0.5", "1"},
                                                           {"1", "00012", "12"},
                                                           {"3.0", "4.5", "6.0"},
                                                           {"100.00", "50", "100.00"},
                                                           {"1", "999999999999999999", "999999999999999999"},
                                                           {"1", "1000000000000000000", kNull},
                                                           {"2", "999999999999999999", "1000000000000000000"},
                                                           {"0.1", "99999999999999999.95", "100000000000000000.0"},
                                                           {"1", "", kNull},
                                                           {"1", "1.", kNull},
                                                           {"1", "x", kNull},
                                                           {"1", "1e3", kNull}};
    for (const auto& [width, value, expected] : cases) {
        EXPECT_EQ(apply("round(" + std::string(width) + ")", value), expected) << width << ' ' << value;
    }
}

TEST_F(Operations, Top) {
    const std::vector<std::array<const char*, 3>> cases = {
        {"90", "89", "89"},
        {"90", "90", "90"},
        {"90", "91", "90"},
        {"90", "90.0001", "90"},
        {"90", "-1000", "-1000"},
        {"90", "+91", "90"},
        {"90", "0089", "0089"},
        {"90", "x", kNull},
        {"7.50", "7.5", "7.5"},
        {"7.50", "7.501", "7.50"},
        {"0", "-0.1", "-0.1"},
        {"0", "0.1", "0"},
        {"90", "123456789012345678901234567890", "90"},
        {"90", "-123456789012345678901234567890", "-123456789012345678901234567890"},
        {"999999999999999999", "999999999999999999.5", "999999999999999999"},
        {"90", "9 1", kNull}};
    for (const auto& [limit, value, expected] : cases) {
        EXPECT_EQ(apply("top(" + std::string(limit) + ")", value), expected) << limit << ' ' << value;
    }
}

TEST(KeyUses, EqualUsesAreOne) {
    KeyUses uses({"a", "b"});
    EXPECT_EQ(uses.add({"b", ""}), 0U);
    EXPECT_EQ(uses.add({"a", ""}), 1U);
    EXPECT_EQ(uses.add({"b", "x"}), 2U);
    EXPECT_EQ(uses.add({"b", ""}), 0U);
    EXPECT_EQ(uses.add({"b", "x"}), 2U);
    EXPECT_EQ(uses.add({"c", ""}), std::nullopt);
    EXPECT_EQ(uses.uses().size(), 3U);
    EXPECT_EQ(uses.add({"a", "", "cleave 2 hmac"}), 3U);
    EXPECT_EQ(uses.add_cipher({"a", "", "cleave 2 hmac"}), 0U);
    EXPECT_EQ(uses.add_cipher({"c", ""}), std::nullopt);
}

// Random values from the bytes that are significant to the operation.
TEST_F(Operations, EqualTheSlowWay) {
    const std::string text("ab Z \x80\xBF\xC2\xC3\xE0\xA0\x9F\xED\xE2\x82\xF0\x90\x8F\xF4\xFF\0", 20);
    Random random(7);
    for (unsigned round = 0; round < rounds(40'000); ++round) {
        const std::uint64_t first = random.below(6);
        const std::uint64_t last = random.below(6);
        const std::string alphabet = random.chance(50) ? text : text.substr(0, 4);
        const std::string value = random_noise(random, alphabet, random.below(60));
        Mask mask;
        mask.first = first;
        mask.last = last;
        ASSERT_EQ(apply(mask, value), mask_by_code_points(value, first, last, '*')) << shown(value);
        const std::string mail = random_noise(random, "a@.-Z9@_@\xC3\xA4", random.below(30));
        ASSERT_EQ(apply(Email(), mail), email_by_search(mail)) << shown(mail);
    }
}

TEST_F(Operations, DatesEqualTheSlowWay) {
    Random random(8);
    const std::string model = "2024-02-29T23:59:60.5+23:59";
    const std::string also = "1900-12-31 10:00:07.123-0930";
    for (unsigned round = 0; round < rounds(40'000); ++round) {
        std::string value = random.chance(50) ? model : also;
        for (std::size_t changes = random.below(4); changes > 0; --changes) {
            value[random.below(value.size())] = random.one_of("0123456789-:T .Z+");
        }
        value.resize(10 + random.below(value.size() - 9));
        if (random.chance(10)) value += 'Z';
        ASSERT_EQ(apply(Date{10}, value), date_by_pattern(value, 10).value_or(kNull)) << value;
    }
}

TEST_F(Operations, BucketsEqualTheSlowWay) {
    Random random(9);
    const auto digits = [&](std::size_t size) {
        const std::string_view alphabet = random.chance(30) ? "09" : random.chance(30) ? "01" : "0123456789";
        std::string text(size, '0');
        for (char& digit : text) digit = random.one_of(alphabet);
        return text;
    };
    for (unsigned round = 0; round < rounds(4'000); ++round) {
        std::string width = digits(1 + random.below(18));
        if (width.size() > 1 && random.chance(60)) width.insert(1 + random.below(width.size() - 1), ".");
        if (width.find_first_not_of("0.") == std::string::npos) continue;
        SCOPED_TRACE(width);
        const Operation bucket = make("bucket(" + width + ")");
        for (unsigned i = 0; i < 10; ++i) {
            std::string value = random.chance(50) ? "-" : "";
            value += digits(1 + random.below(random.chance(50) ? 8 : 45));
            if (random.chance(50)) value += "." + digits(1 + random.below(24));
            if (random.chance(3)) value += random.one_of("x. ");
            ASSERT_EQ(apply(bucket, value), bucket_by_hand(value, width).value_or(kNull)) << value << " by " << width;
        }
    }
}

// applied() checks what operation.h promises, for any bytes.
TEST_F(Operations, KeepTheirPromises) {
    const std::vector<std::string> texts = {"keep",
                                            "null",
                                            "fixed(abc)",
                                            "hmac(pii)",
                                            "hmac(pii, form=decimal, trim)",
                                            "hmac(pii, lower)",
                                            "mask(first=2)",
                                            "initials",
                                            "short-name",
                                            "email(local=mask)",
                                            "email(local=hmac(pii))",
                                            "date(month)",
                                            "bucket(0.5)"};
    Random random(10);
    for (const std::string& text : texts) {
        const Operation operation = make(text);
        for (unsigned round = 0; round < rounds(3'000); ++round) {
            std::string value(random.below(90), '\0');
            for (char& byte : value) byte = static_cast<char>(random.below(random.chance(30) ? 256 : 128));
            apply(operation, value);
            ASSERT_FALSE(HasFailure()) << text << ' ' << shown(value);
        }
    }
}

}  // namespace cleave::test::operations_test
