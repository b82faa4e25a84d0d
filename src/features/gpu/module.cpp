#include "features/gpu/device.h"

#include <string_view>

#include "base/module.h"
#include "cleave/error.h"

namespace cleave {
namespace {

using Missing = DeviceUnavailable::Missing;

constexpr const char* kModuleName = "cleave_cuda.so";

[[noreturn]] void throw_unusable(const std::string& path, const std::string& why) {
    throw DeviceUnavailable(Missing::kModule, "device: the module cannot be used: " + path + ": " + why);
}

cleave_device_open_function open_function(const std::string& path) {
    try {
        return reinterpret_cast<cleave_device_open_function>(module_function(path, CLEAVE_DEVICE_SYMBOL));
    } catch (const ModuleError& error) {
        if (error.is_trusted()) throw_unusable(path, error.what());
        throw DeviceUnavailable(Missing::kTrust, "device: the module " + path + " is not loaded: " + error.what());
    }
}

std::shared_ptr<Device> open_library(const std::string& path, const std::string& config) {
    const cleave_device_open_function open = open_function(path);
    ModuleMessage message;
    const cleave_device* device = nullptr;
    const cleave_device_opening opening = open(config.c_str(), &device, message.data(), message.size());
    const std::string text = message.text();
    const std::string why = text.empty() ? "" : ": " + text;
    if (opening == CLEAVE_DEVICE_NO_DRIVER) throw DeviceUnavailable(Missing::kDriver, "device: no driver" + why);
    if (opening == CLEAVE_DEVICE_NO_CARD) throw DeviceUnavailable(Missing::kCard, "device: no such card" + why);
    if (opening != CLEAVE_DEVICE_OPENED || device == nullptr) throw_unusable(path, "it returned no device" + why);
    if (const std::string wrong = check_device(*device); !wrong.empty()) throw_unusable(path, wrong);
    return std::make_shared<Device>(*device);
}

bool is_number(std::string_view text) {
    return !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::shared_ptr<Device> open_module(const std::vector<std::string>& paths, const std::string& config) {
    const std::string found = first_existing(paths);
    if (!found.empty()) return open_library(found, config);
    throw DeviceUnavailable(
        Missing::kModule,
        "device: the GPU module cleave_cuda.so is not installed, see doc/guide/devices.md" + looked_for(paths));
}

std::shared_ptr<Device> open_device(const std::string& name) {
    if (name.starts_with('/')) {
        const std::size_t colon = name.find(':');
        const std::string config = colon == std::string::npos ? "" : name.substr(colon + 1);
        const std::string path = name.substr(0, colon);
        if (first_existing({path}).empty())
            throw DeviceUnavailable(Missing::kModule, "device: there is no module " + path);
        return open_library(path, config);
    }
    if (name == "gpu") return open_module(module_paths(kModuleName), "0");
    if (name.starts_with("gpu:") && is_number(std::string_view(name).substr(4))) {
        return open_module(module_paths(kModuleName), name.substr(4));
    }
    throw ArgumentError("device: '" + name + "' is not gpu, gpu:NUMBER, or the absolute path of a module");
}

}  // namespace cleave
