// Operations that need more than a value: keys of their own, another column, a list or a table. tests/references/stages
// compares them with an oracle that shares no code; here are what is easiest to see with results written by hand, and
// what random files seldom have.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cleave/keys.h"
#include "cleave/stage.h"
#include "features/redact/stage/encodings.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/rule_tables.h"
#include "inputs.h"

namespace cleave::test::keyed_operations_test {

std::string text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class KeyedOperations : public testing::Test {
protected:
    // What becomes of the records of columns a and b.
    std::string changed(const std::string& rule, const std::string& records) {
        StageOptions options;
        options.rules = {{rule, "--redact"}, {"*: keep", "--redact"}};
        for (const auto& [path, text] : files_) options.files.push_back({path, text});
        options.is_header_given = true;
        const Stage stage(options, Dialect(), bytes_of("a,b\n"), true, &ring_);
        StageWorker worker(stage, default_kernel());
        const RecordBlock block = worker.read(bytes_of(records), {}, true);
        std::vector<std::uint64_t> sizes(block.record_count());
        worker.measure(block, sizes);
        worker.write(block);
        std::uint64_t sum = 0;
        for (const std::uint64_t size : sizes) sum += size;
        EXPECT_EQ(sum, worker.written().size()) << rule;
        return text_of(worker.written());
    }

    // The message, and where the fault is.
    std::string refusal(const std::string& rule, const std::string& records) {
        try {
            changed(rule, records);
        } catch (const InputError& error) {
            return std::to_string(error.place()->record) + ":" + std::to_string(error.place()->offset) + ": " +
                   error.what();
        } catch (const RuleError& error) {
            return error.what();
        }
        return "taken";
    }

    std::map<std::string, std::string> files_;

private:
    static KeyRing make_ring() {
        static const std::string kFirst = "0123456789abcdef0123456789abcdef";
        static const std::string kSecond = "another key of 32 bytes or more.";
        const std::vector<NamedKey> keys{{"k", bytes_of(kFirst)}, {"other", bytes_of(kSecond)}};
        return KeyRing({}, keys);
    }

    KeyRing ring_ = make_ring();
};

std::vector<std::uint8_t> from_hex(std::string_view digits) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
    }
    return bytes;
}

// RFC 5869, appendix A.3: no salt and no info.
TEST(KeyDerivation, IsHkdf) {
    const std::vector<std::uint8_t> key(22, 0x0B);
    std::vector<std::uint8_t> scratch(kDerivationScratch);
    std::vector<std::uint8_t> out(42);
    derive_bytes(key, {"", "", ""}, scratch, out);
    EXPECT_EQ(out, from_hex("8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"));
    // The parts of the info are concatenated.
    std::vector<std::uint8_t> other(64);
    derive_bytes(key, {"ab", "c", "def"}, scratch, out);
    derive_bytes(key, {"a", "", "bcdef"}, scratch, other);
    EXPECT_EQ(out, std::vector(other.begin(), other.begin() + 42));
}

TEST(Base64Url, ReadsOnlyWhatIsWritten) {
    Random random(5);
    for (unsigned round = 0; round < 2000; ++round) {
        const std::string bytes = random_noise(random, std::string("\0\x7F\xFF\xFE@", 5), random.below(40));
        std::vector<std::uint8_t> digits(base64url_size(bytes.size()));
        write_base64url(bytes_of(bytes).data(), bytes.size(), digits.data());
        std::vector<std::uint8_t> read(digits.size() + 1);
        ASSERT_EQ(read_base64url(digits.data(), digits.size(), read.data()), bytes.size());
        ASSERT_EQ(text_of(std::span(read).first(bytes.size())), bytes);
        if (digits.empty()) continue;
        // Another last digit either has bits after the last byte or stands for other bytes.
        std::vector<std::uint8_t> odd = digits;
        odd.back() = odd.back() == 'B' ? 'C' : 'B';
        const auto size = read_base64url(odd.data(), odd.size(), read.data());
        EXPECT_TRUE(!size || text_of(std::span(read).first(*size)) != bytes);
        odd[random.below(odd.size())] = static_cast<std::uint8_t>("=+/ \n.\xFF"[random.below(7)]);
        EXPECT_EQ(read_base64url(odd.data(), odd.size(), read.data()), std::nullopt);
    }
    const std::string one_digit = "AAAAA";
    std::array<std::uint8_t, 8> read;
    EXPECT_EQ(read_base64url(bytes_of(one_digit).data(), one_digit.size(), read.data()), std::nullopt);
}

TEST_F(KeyedOperations, FormKeepsTheForm) {
    const std::string made = changed("a: form(k)", "+43 (1) 234-56.78,1\nAnn O'Neil Ω,2\n,3\n");
    const std::string first = made.substr(0, made.find(','));
    ASSERT_EQ(first.size(), 17U);
    for (std::size_t i = 0; i < first.size(); ++i) {
        const char old = "+43 (1) 234-56.78"[i];
        EXPECT_EQ(first[i] >= '0' && first[i] <= '9', old >= '0' && old <= '9') << made;
        if (old < '0' || old > '9') {
            EXPECT_EQ(first[i], old);
        }
    }
    const std::string second = made.substr(made.find('\n') + 1);
    EXPECT_EQ(second.find(",2\n,3\n"), 12U) << "a character beyond ASCII becomes one letter: " << made;
    EXPECT_NE(changed("a: form(k)", "1234567890,\n"), changed("a: form(other)", "1234567890,\n"));
    EXPECT_NE(changed("a: form(k)", "1234567890,\n"), changed("a: form(k, context=x)", "1234567890,\n"));
    EXPECT_EQ(changed("a: form(k)", "1234567890,\n1234567890,\n").substr(0, 12),
              changed("a: form(k)", "1234567890,\n"));
}

// More characters than one digest has numbers for. All digits and letters appear, in about equal numbers.
TEST_F(KeyedOperations, FormOfALongValue) {
    constexpr std::size_t kSize = 100'000;
    const std::string made = changed("a: form(k)", std::string(kSize, '7') + "," + "\n");
    std::map<char, std::size_t> counts;
    for (std::size_t i = 0; i < kSize; ++i) ++counts[made[i]];
    ASSERT_EQ(counts.size(), 10U);
    for (const auto& [digit, count] : counts) EXPECT_NEAR(static_cast<double>(count), 10'000.0, 500.0) << digit;
    const std::string letters = changed("a: form(k)", std::string(kSize, 'Q') + ",\n");
    counts.clear();
    for (std::size_t i = 0; i < kSize; ++i) ++counts[letters[i]];
    EXPECT_EQ(counts.size(), 26U);
}

TEST_F(KeyedOperations, DatesOfOnePersonMoveTogether) {
    const std::string rule = "a: shift-date(k, by=b, days=1000)";
    const std::string made = changed(rule, "2024-02-28,p\n2024-02-29T10:20:30Z,p\n20240301,p\n02.03.2024 08:00,p\n");
    // Whatever the number of days, the four days follow each other.
    const int year = std::stoi(made.substr(0, 4));
    EXPECT_GE(year, 2021);
    EXPECT_LE(year, 2026);
    EXPECT_NE(made.find("T10:20:30Z,p\n"), std::string::npos);
    EXPECT_NE(made.find(" 08:00,p\n"), std::string::npos);
    EXPECT_EQ(changed("a: shift-date(k, by=b, days=1)", "2024-02-29,1\n").substr(4, 1), "-");
    // A short range is used up: -1, 1 and, in version 1, 0.
    for (const bool may_stay : {false, true}) {
        const std::string short_rule = std::string("a: shift-date(k, by=b, days=1") + (may_stay ? ", version=1)" : ")");
        std::map<std::string, int> seen;
        for (int i = 0; i < 100; ++i) {
            ++seen[changed(short_rule, "2024-02-29," + std::to_string(i) + "\n").substr(0, 10)];
        }
        EXPECT_EQ(seen.size(), may_stay ? 3U : 2U);
        for (const char* day : {"2024-02-28", "2024-03-01"}) EXPECT_GT(seen[day], 15) << day;
        EXPECT_EQ(seen["2024-02-29"] > 15, may_stay);
    }
    EXPECT_EQ(changed("a: shift-date(k, by=b, format=\"DD/MM/YYYY\")", "13/01/2024,p\n").substr(2, 1), "/");
}

TEST_F(KeyedOperations, DatesThatCannotMoveAreRefused) {
    const std::string rule = "a: shift-date(k, by=b)";
    const std::string reason = "0:0: not a date that shift-date can move";
    for (const char* value : {"2024-02-30", "2023-02-29", "24-02-01", "2024-2-1", "01/02/2024", "2024-02-01x",
                              "2024-02-01T", "2024-02-01T25:00", "x", " 2024-02-01", "2024/02-01"}) {
        EXPECT_EQ(refusal(rule, std::string(value) + ",p\n"), reason) << value;
    }
    EXPECT_EQ(refusal(rule, "x,p\n").find('x'), std::string::npos);
    EXPECT_EQ(refusal(rule, "2024-02-01,p\n2024-02-01,\n"), "1:13: the column that shift-date moves dates by is empty");
    EXPECT_EQ(refusal(rule, ",\n"), "taken") << "an empty value stays";
    std::string beyond = "taken";
    for (int i = 0; i < 100 && beyond == "taken"; ++i) {
        beyond = refusal("a: shift-date(k, by=b, days=36500)", "9999-12-31," + std::to_string(i) + "\n");
    }
    EXPECT_EQ(beyond, "0:0: a date that moves out of the years 0000 to 9999");
    const auto is_refused = [&](const std::string& arguments, const std::string& why) {
        EXPECT_NE(refusal("a: shift-date(k, by=b" + arguments + ")", "x,y\n").find(why), std::string::npos)
            << arguments << refusal("a: shift-date(k, by=b" + arguments + ")", "x,y\n");
    };
    is_refused(", format=\"DD/MM/YYYY|MM/DD/YYYY\"", "two formats fit the same dates");
    is_refused(", format=YYYY-MM", "a format has YYYY, MM and DD, each once");
    is_refused(", format=\"YYYY-MM-DD-DD\"", "a format has YYYY, MM and DD, each once");
    is_refused(", days=0", "days is a number from 1 to 36500");
    EXPECT_NE(refusal("a: shift-date(k, by=c)", "x,y\n").find("there is no column \"c\""), std::string::npos)
        << refusal("a: shift-date(k, by=c)", "x,y\n");
}

TEST_F(KeyedOperations, NoiseHasItsDeviation) {
    std::string records;
    constexpr int kCount = 20'000;
    for (int i = 0; i < kCount; ++i) records += "1000," + std::to_string(i) + "\n";
    const std::string made = changed("a: noise(k, sd=20, by=b)", records);
    double sum = 0;
    double squares = 0;
    for (std::size_t at = 0; at < made.size(); at = made.find('\n', at) + 1) {
        const double noise = std::strtod(made.c_str() + at, nullptr) - 1000;
        sum += noise;
        squares += noise * noise;
    }
    // Five standard errors: 20 / sqrt(n), and 20 / sqrt(2 n).
    EXPECT_NEAR(sum / kCount, 0.0, 0.71);
    EXPECT_NEAR(std::sqrt(squares / kCount), 20.0, 0.5);
    EXPECT_EQ(changed("a: noise(k, sd=1, by=b)", "x,1\n1.2.3,1\n1000000000000000000,1\n,1\n"), ",1\n,1\n,1\n,1\n");
    const std::string small = changed("a: noise(k, sd=0.25, by=b)", "1.23456,1\n");
    EXPECT_EQ(small.find(','), small.find('.') + 3) << small << ": as many decimals as sd";
    EXPECT_EQ(refusal("a: noise(k, sd=1, by=b)", "1,p\n1,\n"), "1:4: the column that noise depends on is empty");
    EXPECT_EQ(refusal("a: noise(k, sd=1, by=b)", ",\n"), "taken") << "an empty value stays";
}

// Values are rounded, not cut: with so little noise that it is seldom more than a unit, the results lie around the
// value.
TEST_F(KeyedOperations, NoisyValuesAreRounded) {
    const auto mean = [&](const std::string& value) {
        constexpr int kCount = 4'000;
        std::string records;
        for (int i = 0; i < kCount; ++i) records += value + "," + std::to_string(i) + "\n";
        const std::string made = changed("a: noise(k, sd=1, by=b)", records);
        double sum = 0;
        for (std::size_t at = 0; at < made.size(); at = made.find('\n', at) + 1) sum += std::stod(made.substr(at));
        return sum / kCount;
    };
    constexpr double kError = 0.09;  // more than five standard errors of 1.04 / sqrt(4000)
    EXPECT_NEAR(mean("10.49"), 10, kError);
    EXPECT_NEAR(mean("10.5"), 11, kError);
    EXPECT_NEAR(mean("-10.5"), -11, kError);
    EXPECT_NEAR(mean("-10.4999"), -10, kError);
    EXPECT_NE(changed("a: noise(k, sd=1, by=b)", "999999999999999999.9,1\n").substr(0, 1), ",");
}

// If releases with different arguments depended on the same digest, one value could be computed from two of them.
TEST_F(KeyedOperations, ArgumentsChangeTheDigest) {
    std::string numbers;
    std::string days;
    constexpr int kCount = 500;
    for (int i = 0; i < kCount; ++i) {
        numbers += "0," + std::to_string(i) + "\n";
        days += "2000-01-01," + std::to_string(i) + "\n";
    }
    const auto correlation = [&](const std::string& records, const std::string& one, const std::string& other) {
        const auto results = [&](const std::string& rule) {
            const std::string made = changed(rule, records);
            std::vector<double> values;
            for (std::size_t at = 0; at < made.size(); at = made.find('\n', at) + 1) {
                const std::string field = made.substr(at, made.find(',', at) - at);
                const bool is_day = field.size() == 10 && field[4] == '-';
                values.push_back(is_day ? std::stod(field) * 365 + std::stod(field.substr(5)) * 30.4 +
                                              std::stod(field.substr(8))
                                        : std::stod(field));
            }
            double mean = 0;
            for (const double value : values) mean += value / kCount;
            for (double& value : values) value -= mean;
            return values;
        };
        const std::vector<double> a = results(one);
        const std::vector<double> b = results(other);
        double products = 0;
        double squares_a = 0;
        double squares_b = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            products += a[i] * b[i];
            squares_a += a[i] * a[i];
            squares_b += b[i] * b[i];
        }
        return products / std::sqrt(squares_a * squares_b);
    };
    const std::string noise = "a: noise(k, sd=1000, by=b)";
    EXPECT_GT(correlation(numbers, noise, noise), 0.99);
    EXPECT_NEAR(correlation(numbers, noise, "a: noise(k, sd=2000, by=b)"), 0.0, 0.23);  // five standard errors
    EXPECT_NEAR(correlation(numbers, noise, "a: noise(k, sd=1000.0, by=b)"), 0.0, 0.23);
    const std::string shift = "a: shift-date(k, by=b, days=1000)";
    EXPECT_GT(correlation(days, shift, shift), 0.99);
    EXPECT_NEAR(correlation(days, shift, "a: shift-date(k, by=b, days=2000)"), 0.0, 0.23);
}

TEST_F(KeyedOperations, PicksFromAList) {
    files_["names"] = "Ann\nBob\r\n\nCarl";
    std::map<std::string, int> seen;
    for (int i = 0; i < 300; ++i) {
        const std::string made = changed("a: pick(k, names)", std::to_string(i) + ",\n");
        ++seen[made.substr(0, made.find(','))];
    }
    ASSERT_EQ(seen.size(), 3U);
    for (const char* name : {"Ann", "Bob", "Carl"}) EXPECT_GT(seen[name], 60) << name;
    files_["empty"] = "\n\r\n";
    EXPECT_NE(refusal("a: pick(k, empty)", "x,y\n").find("the file has no values"), std::string::npos);
    EXPECT_NE(refusal("a: pick(k, absent)", "x,y\n").find("the file was not read"), std::string::npos);
}

TEST_F(KeyedOperations, GeneralisesByATable) {
    files_["ages"] =
        "0..17,child,any\n18..64,adult,any\n65..150,\"old, very\",any\nunknown,?,?\n-1.5..-0.5,minus,any\n";
    const auto become = [&](const std::string& value) {
        const std::string made = changed("a: generalise(ages)", value + ",x\n");
        return made.substr(0, made.size() - 3);
    };
    EXPECT_EQ(become("0"), "child");
    EXPECT_EQ(become("17"), "child");
    EXPECT_EQ(become("017.000"), "child");
    EXPECT_EQ(become("18"), "adult");
    EXPECT_EQ(become("65.5"), "\"old, very\"");
    EXPECT_EQ(become("unknown"), "?");
    EXPECT_EQ(become("-1.5"), "minus");
    EXPECT_EQ(become("-0.5"), "minus");
    EXPECT_EQ(become("-0.0"), "child");
    EXPECT_EQ(changed("a: generalise(ages, level=2)", "70,x\n"), "any,x\n");
    const std::string reason =
        "0:0: a value that the table of generalise does not have; a record `*` covers all others";
    for (const char* value : {"17.5", "17.0000001", "151", "-1.5000001", "-0.4", "x", "Unknown", "1e1", "0.."}) {
        EXPECT_EQ(refusal("a: generalise(ages)", std::string(value) + ",x\n"), reason) << value;
    }
    files_["ages"] += "*,other,other\n";
    EXPECT_EQ(become("17.5"), "other");
    EXPECT_EQ(become("anything"), "other");

    const auto is_refused = [&](const std::string& table, const std::string& why) {
        files_["ages"] = table;
        const std::string said = refusal("a: generalise(ages)", "1,x\n");
        EXPECT_NE(said.find(why), std::string::npos) << said;
    };
    is_refused("", "the file has no records");
    is_refused("1\n", "record 1 of the file: it has no level 1");
    is_refused("1,a\n1,b\n", "record 2 of the file: its value appears twice");
    is_refused("*,a\n*,b\n", "record 2 of the file: `*` appears twice");
    is_refused("1..5,a\n5..9,b\n", "two ranges of the file overlap");
    is_refused("5..1,a\n", "record 1 of the file: the range ends before it begins");
    is_refused("1..2.0000001,a\n", "record 1 of the file: a bound has more than six decimals");
    for (const char* half : {"18..", "..18", "0..x", "18..64 ", "1..1000000000000000000"}) {
        is_refused(std::string(half) + ",a\n*,b\n", "record 1 of the file: a range needs a number of up to 18 digits");
    }
    files_["ages"] = "..,dots\na..z,letters\n";
    EXPECT_EQ(become(".."), "dots");
    EXPECT_EQ(become("a..z"), "letters");
    is_refused("1,\"a\n", "of the file: ");
}

TEST_F(KeyedOperations, EncryptedValuesComeBack) {
    const std::string values = "ann,1\n\"x, \"\"y\"\"\",2\n,3\n" + std::string(5000, 'z') + ",4\n\"two\nlines\",5\n";
    for (const std::string context : {"", ", context=c"}) {
        for (const std::string prefix : {"", ", prefix"}) {
            const std::string tokens = changed("a: encrypt(k" + context + prefix + ")", values);
            EXPECT_EQ(tokens.starts_with("v2."), !prefix.empty());
            // Quotes that the token kept are not needed, and stay.
            EXPECT_EQ(changed("a: decrypt(k" + context + ")", tokens), values);
        }
    }
    const std::string token = changed("a: encrypt(k)", "ann,\n");
    EXPECT_EQ(token, changed("a: encrypt(k)", "ann,\n"));
    const std::string reason = "0:0: no token that this key has encrypted";
    EXPECT_EQ(refusal("a: decrypt(other)", token), reason);
    EXPECT_EQ(refusal("a: decrypt(k, context=c)", token), reason);
    EXPECT_EQ(refusal("a: decrypt(k)", "ann,\n"), reason);
    for (std::size_t i = 0; i + 3 < token.size(); ++i) {
        for (const char other : {'A', 'B', '_'}) {
            std::string damaged = token;
            if (damaged[i] == other) continue;
            damaged[i] = other;
            EXPECT_EQ(refusal("a: decrypt(k)", damaged), reason) << damaged;
        }
        EXPECT_EQ(refusal("a: decrypt(k)", token.substr(i + 1)), reason) << i;
    }
}

// What one operation writes says nothing about what another writes.
TEST_F(KeyedOperations, EachHasItsOwnKey) {
    const std::string first = changed("a: hmac(k, bytes=32, form=hex)", "v,\n");
    const std::string second = changed("a: hmac(k, bytes=32, form=hex, version=2)", "v,\n");
    EXPECT_NE(first, second);
    EXPECT_EQ(changed("a: hmac(k, bytes=32, form=hex, version=2, prefix)", "v,\n"), "v2." + second);
    // A value of version 1 that could be part of a derived key is refused; version 2 has no such values.
    const std::string reserved =
        "\xFF"
        "cleave context 1x,\n";
    EXPECT_NE(refusal("a: hmac(k)", reserved), "taken");
    EXPECT_EQ(refusal("a: hmac(k, version=2)", reserved), "taken");
    EXPECT_EQ(refusal("a: email(local=hmac(k, version=2))", reserved), "taken");
    EXPECT_EQ(refusal("a: form(k)", reserved), "taken");
}

}  // namespace cleave::test::keyed_operations_test
