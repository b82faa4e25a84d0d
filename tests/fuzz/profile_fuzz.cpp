// Reading machine profiles back: the file may hold any bytes. A profile that was written is read back unchanged. A
// profile that is accepted matches what nlohmann's library finds in the text, and survives another round trip.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "choices.h"
#include "features/gpu/profile_json.h"

namespace cleave::test {
namespace {

using nlohmann::json;

// Never negative and never infinite, like all measurements.
double make_number(Choices& choices) {
    switch (choices.below(4)) {
        case 0: return 0;
        case 1: return choices.byte() * 1e-9;
        case 2: return std::numeric_limits<double>::denorm_min() * choices.byte();
        default: break;
    }
    const double number = std::abs(std::bit_cast<double>(choices.number()));
    return std::isfinite(number) ? number : std::numeric_limits<double>::max();
}

Rate make_rate(Choices& choices) { return {make_number(choices), make_number(choices)}; }

// JSON can hold only UTF-8.
std::string make_name(Choices& choices) {
    std::string name = choices.text(choices.below(6));
    for (char& byte : name) byte = static_cast<char>(byte & 0x7F);
    return name;
}

MachineProfile make_profile(Choices& choices) {
    MachineProfile profile;
    profile.identity = {make_name(choices), "d" + make_name(choices), make_name(choices)};
    for (Rate* rate : {&profile.in, &profile.out, &profile.ordinary_in, &profile.ordinary_out, &profile.host_copy}) {
        *rate = make_rate(choices);
    }
    for (double* number : {&profile.open, &profile.stage, &profile.launch}) *number = make_number(choices);
    for (std::size_t left = choices.below(3); left > 0; --left) {
        FunctionRates& rates = profile.functions[make_name(choices)];
        if (choices.one_in(2)) rates.host = make_rate(choices);
        if (choices.one_in(2)) rates.device = make_rate(choices);
    }
    return profile;
}

Rate rate_in(const json& from) { return {from.at("fixed").get<double>(), from.at("per_byte").get<double>()}; }

// Throws json::exception if something is missing or not a number.
MachineProfile profile_in(const json& from) {
    MachineProfile profile;
    profile.identity = {from.at("cpu"), from.at("device"), from.at("driver")};
    profile.in = rate_in(from.at("in"));
    profile.out = rate_in(from.at("out"));
    profile.ordinary_in = rate_in(from.at("ordinary_in"));
    profile.ordinary_out = rate_in(from.at("ordinary_out"));
    profile.open = from.at("open");
    profile.stage = from.at("stage");
    profile.launch = from.at("launch");
    profile.host_copy = rate_in(from.at("host_copy"));
    for (const auto& [name, rates] : from.at("functions").items()) {
        FunctionRates& function = profile.functions[name];
        if (!rates.is_object()) continue;
        if (rates.contains("host")) function.host = rate_in(rates["host"]);
        if (rates.contains("device")) function.device = rate_in(rates["device"]);
    }
    return profile;
}

void expect_sound(const MachineProfile& profile, const std::string& text) {
    EXPECT_EQ(json::parse(text).at("version"), 3);
    EXPECT_EQ(profile, profile_in(json::parse(text)));
    for (const double number : {profile.open, profile.stage, profile.launch, profile.in.fixed, profile.in.per_byte}) {
        EXPECT_TRUE(std::isfinite(number) && number >= 0);
    }
    const ReadProfile again = parse_profile(profile_text(profile), profile.identity);
    ASSERT_TRUE(again.profile) << again.reason;
    EXPECT_EQ(*again.profile, profile);
}

void read_text(const std::string& text, const MachineIdentity& identity) {
    const ReadProfile read = parse_profile(text, identity);
    EXPECT_EQ(read.profile.has_value(), read.reason.empty());
    if (read.profile) {
        EXPECT_EQ(read.profile->identity.cpu, identity.cpu);
        expect_sound(*read.profile, text);
    }
}

void fuzz(Choices choices) {
    const MachineProfile profile = make_profile(choices);
    const std::string text = profile_text(profile);
    read_text(text, profile.identity);
    EXPECT_TRUE(parse_profile(text, profile.identity).profile);
    // The profile with a part of it replaced, or entirely different bytes.
    const std::size_t place = choices.below(text.size());
    const std::size_t size = choices.below(text.size() - place + 1);
    const std::string other = choices.text(300);
    std::string there = text;
    there.replace(place, size, other);
    read_text(there, profile.identity);
    read_text(other, {});
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
