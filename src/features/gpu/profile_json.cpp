#include "features/gpu/profile_json.h"

#include <cmath>
#include <optional>
#include <utility>

#include "base/json.h"

namespace cleave {
namespace {

constexpr std::uint64_t kVersion = 3;  // of the format and of what is measured

Json json_of(const Rate& rate) {
    Json json;
    json["fixed"] = rate.fixed;
    json["per_byte"] = rate.per_byte;
    return json;
}

Json json_of(const MachineProfile& profile) {
    Json json;
    json["version"] = kVersion;
    json["cpu"] = profile.identity.cpu;
    json["device"] = profile.identity.device;
    json["driver"] = profile.identity.driver;
    json["in"] = json_of(profile.in);
    json["out"] = json_of(profile.out);
    json["ordinary_in"] = json_of(profile.ordinary_in);
    json["ordinary_out"] = json_of(profile.ordinary_out);
    json["open"] = profile.open;
    json["stage"] = profile.stage;
    json["launch"] = profile.launch;
    json["host_copy"] = json_of(profile.host_copy);
    Json& functions = json["functions"] = Json(Json::Object());
    for (const auto& [name, rates] : profile.functions) {
        Json& function = functions[name] = Json(Json::Object());
        if (rates.host) function["host"] = json_of(*rates.host);
        if (rates.device) function["device"] = json_of(*rates.device);
    }
    return json;
}

// Reads members, and records whether all of them were present and valid.
class Reader {
public:
    bool is_sound() const noexcept { return is_sound_; }

    std::string text(const Json& json, const char* key) {
        const Json* const member = json.find(key);
        const std::string* const text = member != nullptr ? member->string() : nullptr;
        is_sound_ = is_sound_ && text != nullptr;
        return text != nullptr ? *text : "";
    }

    double number(const Json& json, const char* key) {
        const Json* const member = json.find(key);
        const std::optional<double> number = member != nullptr ? member->number() : std::nullopt;
        const double value = number.value_or(-1);
        is_sound_ = is_sound_ && std::isfinite(value) && value >= 0;
        return value;
    }

    Rate rate(const Json& json, const char* key) {
        const Json* const member = json.find(key);
        is_sound_ = is_sound_ && member != nullptr;
        if (member == nullptr) return {};
        return {number(*member, "fixed"), number(*member, "per_byte")};
    }

    std::map<std::string, FunctionRates> functions(const Json& json) {
        std::map<std::string, FunctionRates> functions;
        const Json* const member = json.find("functions");
        const Json::Object* const object = member != nullptr ? member->object() : nullptr;
        is_sound_ = is_sound_ && object != nullptr;
        if (object == nullptr) return functions;
        for (const auto& [name, rates] : *object) {
            FunctionRates& function = functions[name];
            if (rates.find("host") != nullptr) function.host = rate(rates, "host");
            if (rates.find("device") != nullptr) function.device = rate(rates, "device");
        }
        return functions;
    }

private:
    bool is_sound_ = true;
};

}  // namespace

std::string profile_text(const MachineProfile& profile) { return json_of(profile).text() + "\n"; }

ReadProfile parse_profile(const std::string& text, const MachineIdentity& identity) {
    const std::optional<Json> json = parse_json(text);
    if (!json) return unusable("is damaged");
    const Json* const version = json->find("version");
    if (version == nullptr || !version->number()) return unusable("is damaged");
    if (*version != Json(kVersion)) return unusable("has another version");
    Reader reader;
    MachineProfile profile;
    profile.identity = {reader.text(*json, "cpu"), reader.text(*json, "device"), reader.text(*json, "driver")};
    profile.in = reader.rate(*json, "in");
    profile.out = reader.rate(*json, "out");
    profile.ordinary_in = reader.rate(*json, "ordinary_in");
    profile.ordinary_out = reader.rate(*json, "ordinary_out");
    profile.open = reader.number(*json, "open");
    profile.stage = reader.number(*json, "stage");
    profile.launch = reader.number(*json, "launch");
    profile.host_copy = reader.rate(*json, "host_copy");
    profile.functions = reader.functions(*json);
    if (!reader.is_sound()) return unusable("is damaged");
    if (profile.identity.cpu != identity.cpu) return unusable("belongs to another processor");
    if (identity.device.empty()) return {std::move(profile), "", ""};
    if (profile.identity.device != identity.device) return unusable("belongs to another device");
    if (profile.identity.driver != identity.driver) return unusable("belongs to another driver");
    return {std::move(profile), "", ""};
}

}  // namespace cleave
