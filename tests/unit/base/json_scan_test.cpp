// Compares the scan with nlohmann's parser, on texts that are JSON or nearly so. The two differ in three points, which
// have tests of their own: nlohmann refuses numbers that are too large for a double and lone surrogates, and has no
// limit on depth. system/json_lines_test.py compares the command with Python's parser.
#include "base/json_scan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_string.h"
#include "features/json_lines/json_find.h"
#include "guarded_memory.h"
#include "inputs.h"

namespace cleave::test::json_scan_test {

using nlohmann::json;

struct Ignore {
    void key(std::size_t, JsonBytes) {}
    void element(std::size_t, std::uint64_t) {}
    void value(std::size_t, JsonKind, JsonBytes) {}
};

// The offset of the fault, if the text is not JSON.
std::optional<std::size_t> fault_in(std::string_view text) {
    const auto bytes = bytes_of(text);
    Ignore sink;
    const auto fault = scan_json(bytes.data(), bytes.data() + bytes.size(), sink);
    if (!fault) return std::nullopt;
    EXPECT_GE(fault->at, bytes.data());
    EXPECT_LE(fault->at, bytes.data() + bytes.size());
    return static_cast<std::size_t>(fault->at - bytes.data());
}

std::string decoded(JsonBytes string) {
    std::string text(string.size(), '\0');
    auto* const out = reinterpret_cast<std::uint8_t*>(text.data());
    text.resize(write_json_text(string.data() + 1, string.data() + string.size() - 1, out));
    return text;
}

// What is found at a path: the decoded string, the token, "{", "[", or "-" for no value.
std::string found_at(const JsonPath& path, std::string_view text) {
    const auto bytes = bytes_of(text);
    const JsonFound found = find_json(path, bytes.data(), bytes.data() + bytes.size());
    if (found.fault) return std::string("fault: ") + found.fault->what;
    if (!found.kind) return "-";
    if (*found.kind == JsonKind::kString) return decoded(found.bytes);
    return {reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size()};
}

std::string random_string(Random& random) {
    constexpr std::string_view kParts[] = {"a",
                                           "b",
                                           "ab",
                                           " ",
                                           "{",
                                           "]",
                                           ",",
                                           ":",
                                           "0",
                                           "\\n",
                                           "\\\"",
                                           "\\\\",
                                           "\\/",
                                           "\\u0041",
                                           "\\u00e9",
                                           "\\ud83d\\ude00",
                                           "\\u0000",
                                           "\xC3\xA9",
                                           "\xE2\x82\xAC",
                                           "\xF0\x9F\x98\x80",
                                           "plain text that is longer than eight bytes"};
    std::string text = "\"";
    for (std::size_t i = random.below(4); i-- > 0;) text += kParts[random.below(std::size(kParts))];
    return text + '"';
}

std::string blanks(Random& random) {
    std::string text;
    while (random.chance(15)) text += random.one_of(" \t\r\n");
    return text;
}

std::string random_value(Random& random, std::size_t depth) {
    constexpr std::string_view kScalars[] = {
        "0", "-0", "12", "-3.50", "1e5", "1E+2", "0.0e-0", "18446744073709551616", "true", "false", "null"};
    const std::size_t kind = random.below(depth > 0 ? 5 : 3);
    if (kind == 0) return std::string(kScalars[random.below(std::size(kScalars))]);
    if (kind < 3) return random_string(random);
    std::string text = kind == 3 ? "{" : "[";
    text += blanks(random);
    for (std::size_t i = random.below(4); i-- > 0;) {
        if (text.size() > 1 && text.back() != '{' && text.back() != '[' &&
            text.find_first_not_of(" \t\r\n", 1) != std::string::npos)
            text += ',';
        text += blanks(random);
        if (kind == 3) text += random_string(random) + blanks(random) + ':' + blanks(random);
        text += random_value(random, depth - 1) + blanks(random);
    }
    return text + (kind == 3 ? '}' : ']');
}

// Changes, removes or adds a byte that means something.
void damage(Random& random, std::string& text) {
    constexpr std::string_view kBytes = "{}[],:\"\\0123-+.eEu truefalsnl\n\x01\x1F\x7F\x80\xC3\xE2\xED\xF0\xF5\xFF";
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(3)) {
        case 0: text.insert(at, 1, random.one_of(kBytes)); break;
        case 1: text.erase(at, 1); break;
        default:
            if (at < text.size()) text[at] = random.one_of(kBytes);
    }
}

TEST(JsonScan, AcceptsWhatNlohmannAccepts) {
    Random random(1);
    std::size_t accepted = 0;
    const unsigned count = rounds(400'000);
    for (unsigned i = 0; i < count; ++i) {
        std::string text = blanks(random) + random_value(random, 4) + blanks(random);
        for (std::size_t changes = random.below(3); changes-- > 0;) damage(random, text);
        const bool is_json = !fault_in(text);
        accepted += is_json ? 1 : 0;
        if (is_json == json::accept(text)) continue;
        // The damage may have made half a pair, or a number that is too large.
        ASSERT_TRUE(is_json) << shown(text);
        ASSERT_TRUE(text.find("\\u") != std::string::npos || text.find_first_of("eE") != std::string::npos)
            << shown(text);
    }
    EXPECT_GT(accepted, count / 4);
    EXPECT_LT(accepted, count * 3 / 4);
}

// Wherever a text is cut off, the scan says so, and reads nothing past its end.
TEST(JsonScan, FindsEveryEndThatIsMissing) {
    const std::string text =
        R"( {"a\u0041\n":[1.5e+3,-0,true,false,null,{"\"é€😀":"\ud83d\ude00 long enough for eight"}],"":{}} )";
    GuardedMemory memory;
    for (std::size_t size = 0; size <= text.size(); ++size) {
        EXPECT_EQ(!fault_in(memory.at_back(std::string_view(text).substr(0, size))), size + 1 >= text.size()) << size;
    }
}

TEST(JsonScan, FollowsTheGrammar) {
    for (const char* text :
         {"0", "-0", "-0.0E-0", "1e400", "123456789012345678901234567890", "\"\"", "\"\x7F\"", R"("\ud800")",
          R"("\udc00\ud800")", "[]", "{}", "[[[]]]", R"({"":{"":[]}})", "\t\r\n null \n", R"({"a":1,"a":2})",
          "\"\xEF\xBB\xBF\"", "\"\xEF\xBF\xBF\"", "\"\xF4\x8F\xBF\xBF\""}) {
        EXPECT_EQ(fault_in(text), std::nullopt) << shown(text);
    }
    struct Row {
        std::string_view text;
        std::size_t fault;
    };
    using namespace std::string_view_literals;
    for (const Row& row : std::initializer_list<Row>{{"", 0},
                                                     {"  ", 2},
                                                     {"01", 1},
                                                     {"-", 1},
                                                     {"-a", 1},
                                                     {"+1", 0},
                                                     {".5", 0},
                                                     {"1.", 2},
                                                     {"1.e1", 2},
                                                     {"1e", 2},
                                                     {"1e+", 3},
                                                     {"0x1", 1},
                                                     {"NaN", 0},
                                                     {"-Infinity", 1},
                                                     {"tru", 0},
                                                     {"truex", 4},
                                                     {"TRUE", 0},
                                                     {"'a'", 0},
                                                     {"\"", 0},
                                                     {"\"a", 0},
                                                     {"\"\n\"", 1},
                                                     {"\"\0\""sv, 1},
                                                     {"\"\x1F\"", 1},
                                                     {R"("\a")", 1},
                                                     {R"("\u12g4")", 1},
                                                     {R"("\u123")", 1},
                                                     {"\"\\", 1},
                                                     {"\"\x80\"", 1},
                                                     {"\"\xC0\x80\"", 1},
                                                     {"\"\xED\xA0\x80\"", 1},
                                                     {"\"\xF4\x90\x80\x80\"", 1},
                                                     {"\"\xE2\x82\"", 1},
                                                     {"[1,]", 3},
                                                     {"[,1]", 1},
                                                     {"[1 2]", 3},
                                                     {"[1", 2},
                                                     {"[1}", 2},
                                                     {"]", 0},
                                                     {"{\"a\"}", 4},
                                                     {"{\"a\" 1}", 5},
                                                     {"{\"a\":}", 5},
                                                     {"{\"a\":1,}", 7},
                                                     {"{a:1}", 1},
                                                     {"{1:1}", 1},
                                                     {"{\"a\":1", 6},
                                                     {"{\"a\":1]", 6},
                                                     {"{} {}", 3},
                                                     {"1 2", 2},
                                                     {R"("a""b")", 3},
                                                     {"[1]\0"sv, 3},
                                                     {"\f1", 0},
                                                     {"\xEF\xBB\xBF{}", 0},
                                                     {"// c", 0}}) {
        EXPECT_EQ(fault_in(row.text), row.fault) << shown(row.text);
    }
}

TEST(JsonScan, HasALimitOnDepth) {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_EQ(fault_in(nested(kMaxJsonDepth)), std::nullopt);
    EXPECT_EQ(fault_in(nested(kMaxJsonDepth + 1)), kMaxJsonDepth);
    EXPECT_EQ(fault_in(std::string(1'000'000, '[')), kMaxJsonDepth);
}

TEST(JsonString, DecodesAsNlohmannDoes) {
    Random random(2);
    for (unsigned i = 0; i < rounds(100'000); ++i) {
        const std::string text = random_string(random);
        const std::string expected = json::parse(text).get<std::string>();
        const auto bytes = bytes_of(text);
        ASSERT_EQ(decoded(bytes), expected) << shown(text);
        const auto is = [&](const std::string& other) {
            return is_json_text(bytes.data() + 1, bytes.data() + bytes.size() - 1, other);
        };
        ASSERT_TRUE(is(expected)) << shown(text);
        ASSERT_FALSE(is(expected + 'x')) << shown(text);
        ASSERT_FALSE(is('x' + expected)) << shown(text);
        ASSERT_TRUE(expected.empty() || !is(expected.substr(1))) << shown(text);
    }
}

// Every code unit alone, and pairs: different strings stay different.
TEST(JsonString, KeepsLoneSurrogatesApart) {
    EXPECT_EQ(decoded(bytes_of(R"("\ud83d\ude00")")), "\xF0\x9F\x98\x80");
    EXPECT_EQ(decoded(bytes_of(R"("\uDBFF\uDFFF")")), "\xF4\x8F\xBF\xBF");
    EXPECT_EQ(decoded(bytes_of(R"("\ud800")")), "\xED\xA0\x80");
    EXPECT_EQ(decoded(bytes_of(R"("\ud800\ud800\udc00")")), "\xED\xA0\x80\xF0\x90\x80\x80");
    EXPECT_EQ(decoded(bytes_of(R"("\udc00\ud800")")), "\xED\xB0\x80\xED\xA0\x80");
    EXPECT_EQ(decoded(bytes_of(R"("\ud800\u0041")")),
              "\xED\xA0\x80"
              "A");
    EXPECT_EQ(decoded(bytes_of(R"("\ud800\n\udc00")")), "\xED\xA0\x80\n\xED\xB0\x80");
}

// All paths of a random value, found by walking over nlohmann's.
void expect_paths(const std::string& text, const json& at, JsonPath& path) {
    const std::string found = found_at(path, text);
    if (at.is_object() || at.is_array()) {
        EXPECT_EQ(found, at.is_object() ? "{" : "[") << shown(text);
    } else if (at.is_string()) {
        EXPECT_EQ(found, at.get<std::string>()) << shown(text);
    } else {
        EXPECT_EQ(json::parse(found), at) << shown(text);
    }
    if (at.is_object()) {
        for (const auto& [key, value] : at.items()) {
            path.emplace_back(key);
            expect_paths(text, value, path);
            path.pop_back();
        }
    } else if (at.is_array()) {
        for (std::size_t i = 0; i < at.size(); ++i) {
            path.emplace_back(std::uint64_t{i});
            expect_paths(text, at[i], path);
            path.pop_back();
        }
        path.emplace_back(std::uint64_t{at.size()});
        EXPECT_EQ(found_at(path, text), "-");
        path.pop_back();
    }
}

TEST(JsonPath, FindsEveryValue) {
    Random random(3);
    for (unsigned i = 0; i < rounds(20'000); ++i) {
        const std::string text = random_value(random, 4);
        JsonPath path;
        expect_paths(text, json::parse(text), path);  // as in find_json(), the last value of a key counts
        if (testing::Test::HasFailure()) return;
    }
}

TEST(JsonPath, TakesTheLastOfSeveralValues) {
    const JsonPath path{"a", "b"};
    EXPECT_EQ(found_at(path, R"({"a":{"b":1}})"), "1");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1,"b":2}})"), "2");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1},"a":{"b":2}})"), "2");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1},"a":{}})"), "-");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1},"a":5})"), "-");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1},"\u0061":{"\u0062":3}})"), "3");
    EXPECT_EQ(found_at(path, R"({"a":[{"b":1}],"b":{"b":1},"c":{"a":{"b":1}}})"), "-");
    EXPECT_EQ(found_at({"a", std::uint64_t{1}}, R"({"a":[[7,8],[9]],"a":[0,[1,2],5]})"), "[");
    EXPECT_EQ(found_at({"a", std::uint64_t{1}, std::uint64_t{0}}, R"({"a":[[7,8],[9]],"a":[0,[1,2],5]})"), "1");
    EXPECT_EQ(found_at({"0"}, R"(["x"])"), "-");
    EXPECT_EQ(found_at({std::uint64_t{0}}, R"({"0":1})"), "-");
    EXPECT_EQ(found_at({}, " 5 "), "5");
    EXPECT_EQ(found_at(path, R"({"a":{"b":1}},)"), "fault: more text follows the value");
}

}  // namespace cleave::test::json_scan_test
