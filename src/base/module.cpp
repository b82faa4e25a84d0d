#include "base/module.h"

#include <dlfcn.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "base/module_paths.h"
#include "base/shared_library.h"
#include "cleave/error.h"

namespace cleave {
namespace {

#ifdef CLEAVE_CANNOT_LOAD
constexpr bool kCanLoad = false;
#else
constexpr bool kCanLoad = true;
#endif

// What every struct of a module begins with.
struct ModuleHead {
    std::uint32_t interface_version;
    std::uint32_t struct_size;
};

[[noreturn]] void throw_unusable(const std::string& path, const std::string& why) {
    throw ArgumentError("the module " + path + " cannot be used: " + why);
}

void* load(const std::string& path) {
    try {
        return load_library(path);
    } catch (const UntrustedLibrary& error) {
        throw ArgumentError("the module " + path + " is not loaded: " + error.what());
    } catch (const std::system_error& error) {
        throw_unusable(path, error.code().message());
    } catch (const LibraryError& error) {
        throw_unusable(path, error.what());
    }
}

}  // namespace

ModuleFunction find_module(const ModuleKind& kind, const std::vector<std::string>& paths) {
    const std::string need = std::string(kind.need) + " the module " + kind.file;
    if (!kCanLoad) {
        throw ArgumentError(
            need +
            ", and a static cleave cannot load modules; install one for glibc, from a package of Debian or "
            "Python, or from source");
    }
    const std::string path = first_existing(paths);
    if (path.empty()) {
        std::string looked;
        for (const std::string& one : paths) looked += (looked.empty() ? "" : ", ") + one;
        throw ArgumentError(need + ", which is not installed, see " + kind.page + "; looked for " + looked);
    }
    void* const function = ::dlsym(load(path), kind.function);
    if (function == nullptr) throw_unusable(path, std::string("it has no function ") + kind.function);
    return {path, function};
}

void check_module(const ModuleKind& kind, const std::string& path, const void* module) {
    const auto* const head = static_cast<const ModuleHead*>(module);
    if (head == nullptr) throw_unusable(path, "it returned nothing");
    if (head->interface_version != kind.version) {
        throw_unusable(path, "it is for version " + std::to_string(head->interface_version) +
                                 " of the interface, not " + std::to_string(kind.version));
    }
    if (head->struct_size < kind.size) {
        throw_unusable(
            path, "its struct has " + std::to_string(head->struct_size) + " bytes, not " + std::to_string(kind.size));
    }
    const std::span members(reinterpret_cast<void* const*>(head) + sizeof(ModuleHead) / sizeof(void*),
                            (kind.size - sizeof(ModuleHead)) / sizeof(void*));
    if (std::ranges::find(members, nullptr) != members.end()) throw_unusable(path, "it lacks a member");
}

}  // namespace cleave
