#include "offload/module.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "base/shared_library.h"
#include "cleave/error.h"
#include "memory/plugin.h"

namespace cleave {
namespace {

using Missing = DeviceUnavailable::Missing;

constexpr const char* kModuleName = "cleave_cuda.so";

// The loader's name for the library that contains this code. Empty if the program itself contains it: the loader lists
// the program first, under a name that may be its first argument and does not say where the program is.
std::string own_library() {
    struct Search {
        std::string name;
        bool is_program = true;
    };
    Search search;
    const auto look = [](dl_phdr_info* loaded, std::size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        const auto here = reinterpret_cast<std::uintptr_t>(&own_library);
        const std::span parts(loaded->dlpi_phdr, loaded->dlpi_phnum);
        const bool is_here = std::ranges::any_of(parts, [&](const auto& part) {
            return part.p_type == PT_LOAD && here - (loaded->dlpi_addr + part.p_vaddr) < part.p_memsz;
        });
        if (is_here && !found.is_program) found.name = loaded->dlpi_name;
        found.is_program = false;
        return is_here ? 1 : 0;
    };
    ::dl_iterate_phdr(look, &search);
    return search.name;
}

// The folder of the file that contains this code, with a trailing slash. Empty if it cannot be determined.
std::string own_folder() {
    std::string path = own_library();
    if (path.empty()) {
        std::array<char, PATH_MAX> target{};
        const ::ssize_t size = ::readlink("/proc/self/exe", target.data(), target.size());
        if (size > 0 && static_cast<std::size_t>(size) < target.size()) {
            path.assign(target.data(), static_cast<std::size_t>(size));
        }
    }
    if (!path.starts_with('/')) return "";
    return path.substr(0, path.rfind('/') + 1);
}

[[noreturn]] void throw_unusable(const std::string& path, const std::string& why) {
    throw DeviceUnavailable(Missing::kModule, "device: the module cannot be used: " + path + ": " + why);
}

// The module stays loaded, because an exiting thread may run its code after the last device is gone.
void* load(const std::string& path) {
    try {
        return load_library(path);
    } catch (const UntrustedLibrary& error) {
        throw DeviceUnavailable(Missing::kTrust, "device: the module " + path + " is not loaded: " + error.what());
    } catch (const std::system_error& error) {
        throw_unusable(path, error.code().message());
    } catch (const std::runtime_error& error) {
        throw_unusable(path, error.what());
    }
}

std::shared_ptr<Device> open_library(const std::string& path, const std::string& config) {
    const auto open = reinterpret_cast<cleave_device_open_function>(::dlsym(load(path), CLEAVE_DEVICE_SYMBOL));
    if (open == nullptr) throw_unusable(path, "it has no function " CLEAVE_DEVICE_SYMBOL);
    std::array<char, 256> message{};
    const cleave_device* device = nullptr;
    const cleave_device_opening opening = open(config.c_str(), &device, message.data(), message.size());
    message.back() = 0;
    const std::string why = message.front() != 0 ? ": " + printable(message.data()) : "";
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

std::vector<std::string> module_paths() {
    std::vector<std::string> paths;
    const std::string folder = own_folder();
    if (!folder.empty()) paths.push_back(folder + "../lib/cleave/" + kModuleName);
    constexpr std::string_view kConfigured = CLEAVE_MODULE_FOLDER;
    if (kConfigured.starts_with('/')) paths.push_back(std::string(kConfigured).append("/").append(kModuleName));
    return paths;
}

std::shared_ptr<Device> open_module(const std::vector<std::string>& paths, const std::string& config) {
    std::string looked;
    for (const std::string& path : paths) {
        if (::access(path.c_str(), F_OK) == 0) return open_library(path, config);
        looked += (looked.empty() ? "" : ", ") + path;
    }
    throw DeviceUnavailable(
        Missing::kModule,
        "device: the GPU module cleave_cuda.so is not installed, see doc/guide/devices.md; looked for " + looked);
}

std::shared_ptr<Device> open_device(const std::string& name) {
    if (name.starts_with('/')) {
        const std::size_t colon = name.find(':');
        const std::string config = colon == std::string::npos ? "" : name.substr(colon + 1);
        const std::string path = name.substr(0, colon);
        if (::access(path.c_str(), F_OK) != 0)
            throw DeviceUnavailable(Missing::kModule, "device: there is no module " + path);
        return open_library(path, config);
    }
    if (name == "gpu") return open_module(module_paths(), "0");
    if (name.starts_with("gpu:") && is_number(std::string_view(name).substr(4))) {
        return open_module(module_paths(), name.substr(4));
    }
    throw ArgumentError("device: '" + name + "' is not gpu, gpu:NUMBER, or the absolute path of a module");
}

}  // namespace cleave
