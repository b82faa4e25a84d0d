// Compares Json with nlohmann's values; the text that both produce must be the same.
#include <gtest/gtest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <tuple>

#include "base/json.h"
#include "inputs.h"

namespace cleave::json_test {

using nlohmann::ordered_json;

std::string expected_text(const ordered_json& json) {
    return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

TEST(Json, WritesAnyBytesAsNlohmannDoes) {
    constexpr std::uint32_t kSeed = 5;
    std::mt19937 random(kSeed);  // NOLINT(bugprone-random-generator-seed): the same texts each time
    // Bytes that begin characters, continue them, or are significant in JSON.
    constexpr std::string_view kBytes(
        "\xC2\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5\x80\x90\x9F\xA0\xBF\xC0\xFF\"\\\n\t\x01\x7F"
        "a\0",
        24);
    for (unsigned round = test::rounds(1'000'000); round > 0; --round) {
        std::string text(random() % 7, '\0');
        for (char& byte : text) byte = kBytes[random() % kBytes.size()];
        ASSERT_EQ(Json(text).text(), expected_text(text)) << "round " << round;
    }
}

TEST(Json, WritesNumbersListsAndMembersInTheirOrder) {
    Json json;
    json["z"] = UINT64_MAX;
    json["a"] = INT64_MIN;
    json["list"] = Json::Array{nullptr, true, "text", Json::Array{}, Json::Object{}};
    json["z"] = 1;
    EXPECT_EQ(json.text(), R"({"z":1,"a":-9223372036854775808,"list":[null,true,"text",[],{}]})");
    json.erase("a");
    EXPECT_EQ(json.find("a"), nullptr);
    EXPECT_EQ(parse_json(json.text()), json);
}

// The digits are the shortest ones, which nlohmann's nearly always are.
TEST(Json, WritesDoublesSoThatTheyAreReadAgain) {
    std::mt19937_64 random(6);  // NOLINT(bugprone-random-generator-seed): the same numbers each time
    for (unsigned round = test::rounds(1'000'000); round > 0; --round) {
        auto number = std::bit_cast<double>(random());
        if (round % 2 == 0) number = static_cast<double>(random() >> (random() % 64)) / 1000;
        if (!std::isfinite(number)) continue;
        const std::string text = Json(number).text();
        const ordered_json read = ordered_json::parse(text);
        ASSERT_TRUE(read.is_number_float()) << text;
        ASSERT_EQ(read.get<double>(), number) << text;
        ASSERT_EQ(parse_json(text), Json(number)) << text;
        ASSERT_LE(text.size(), expected_text(number).size()) << text;
    }
    const char* const locale =
        std::setlocale(LC_NUMERIC, "de_DE.UTF-8");  // with a decimal comma, where it is installed
    EXPECT_EQ(Json(1.5e-7).text(), "1.5e-07");
    EXPECT_EQ(parse_json("[2.5,1e3]"), Json(Json::Array{2.5, 1000.0}));
    if (locale != nullptr) std::ignore = std::setlocale(LC_NUMERIC, "C");
    EXPECT_EQ(Json(1.0).text(), "1.0");
    EXPECT_EQ(Json(0.25).text(), "0.25");
    EXPECT_EQ(Json(-0.0).text(), "-0.0");
    EXPECT_EQ(Json(INFINITY).text(), "null");
}

TEST(Json, TellsScalarsApart) {
    const auto json = parse_json(R"([1,-1,0.5,"text",null,true,[1],{"a":1}])");
    ASSERT_TRUE(json && json->array());
    const Json::Array& elements = *json->array();
    EXPECT_EQ(elements[0].number(), 1);
    EXPECT_EQ(elements[1].number(), -1);
    EXPECT_EQ(elements[2].number(), 0.5);
    ASSERT_NE(elements[3].string(), nullptr);
    EXPECT_EQ(*elements[3].string(), "text");
    for (std::size_t i = 3; i < elements.size(); ++i) EXPECT_FALSE(elements[i].number()) << i;
    for (const Json& element : elements) EXPECT_EQ(element.string() != nullptr, &element == &elements[3]);
}

TEST(Json, ReadsWhatNlohmannReads) {
    for (const char* text : {"",
                             "{",
                             "[1,]",
                             "nul",
                             R"({"a":1,"a":2})",
                             R"({"b":0,"a":1,"c":2,"a":3,"b":[{"a":4,"a":5}],"a":6})",
                             "[1,-1,0,-0,1e3,18446744073709551615]",
                             R"(["\u00e4\ud83d\ude00\""])",
                             R"( {"a" : [ {"b":[]} ] } )",
                             "1 2",
                             "\"\xFF\"",
                             "\xEF\xBB\xBF{}",
                             "1e400",
                             "-1e400",
                             R"("\ud800")",
                             R"({"\udc00":1})",
                             "[1]x",
                             "[1],",
                             R"("\x")",
                             R"(["\b\f\n\r\t\/\\\"\u0000"])",
                             "[[],{},[{}]]",
                             "-",
                             "01",
                             "18446744073709551616",
                             "-9223372036854775809"}) {
        const ordered_json wanted = ordered_json::parse(text, nullptr, false);
        const auto json = parse_json(text);
        ASSERT_EQ(json.has_value(), !wanted.is_discarded()) << text;
        if (json && std::string_view(text).find('e') == std::string_view::npos) {
            EXPECT_EQ(json->text(), expected_text(wanted));
        }
    }
}

// Each of these texts would take a minute of the processor if every name were compared with all names before it.
TEST(Json, ReadsManyMembersInLittleTime) {
    constexpr int kCount = 200'000;
    std::string different;
    std::string equal;
    for (int i = 0; i < kCount; ++i) {
        different += (i == 0 ? "{\"" : ",\"") + std::to_string(i) + "\":" + std::to_string(i);
        equal += (i == 0 ? "{\"a\":" : ",\"a\":") + std::to_string(i);
    }
    const std::clock_t began = std::clock();
    const auto json = parse_json(different + '}');
    EXPECT_EQ(parse_json(equal + '}')->text(), R"({"a":199999})");
    EXPECT_LT(std::clock() - began, 20 * CLOCKS_PER_SEC);
    ASSERT_TRUE(json);
    EXPECT_EQ(json->text(), different + '}');
}

TEST(Json, OnlyObjectsHaveMembers) {
    for (const char* text : {"[1]", "\"a\"", "1", "-1.5", "true", "null", "{}", "{\"b\":1}"}) {
        EXPECT_EQ(parse_json(text)->find("a"), nullptr) << text;
    }
    EXPECT_NE(parse_json(R"({"b":1,"a":null})")->find("a"), nullptr);
}

TEST(Json, AManifestNestedTooDeepIsRefusedBeforeItFillsTheStack) {
    const std::string deep(1'000'000, '[');
    EXPECT_FALSE(parse_json(deep + std::string(deep.size(), ']')));
    EXPECT_TRUE(parse_json(deep.substr(0, 64) + std::string(64, ']')));
    EXPECT_FALSE(parse_json(deep.substr(0, 65) + std::string(65, ']')));
    EXPECT_FALSE(parse_json(deep.substr(0, 64) + "{}" + std::string(64, ']')));
}

}  // namespace cleave::json_test
