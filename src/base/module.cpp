#include "base/module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "base/printable.h"
#include "base/shared_library.h"
#include "base/utf8.h"

namespace cleave {
namespace {

#ifdef CLEAVE_CANNOT_LOAD
constexpr bool kCanLoad = false;
#else
constexpr bool kCanLoad = true;
#endif

// What every table begins with.
struct TableHead {
    std::uint32_t interface_version;
    std::uint32_t struct_size;
};

void* load(const std::string& path) {
    try {
        return load_library(path);
    } catch (const UntrustedLibrary& error) {
        throw ModuleError(false, error.what());
    } catch (const std::system_error& error) {
        throw ModuleError(true, error.code().message());
    } catch (const LibraryError& error) {
        throw ModuleError(true, error.what());
    }
}

[[noreturn]] void throw_unusable(const std::string& path, const std::string& why) {
    throw ArgumentError("the module " + path + " cannot be used: " + why);
}

}  // namespace

std::string first_existing(const std::vector<std::string>& paths) {
    const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
    const auto found = std::ranges::find_if(paths, exists);
    return found == paths.end() ? std::string() : *found;
}

std::string looked_for(const std::vector<std::string>& paths) {
    std::string all;
    for (const std::string& path : paths) all += (all.empty() ? "; looked for " : ", ") + path;
    return all;
}

void* module_function(const std::string& path, const char* function) {
    void* const found = ::dlsym(load(path), function);
    if (found == nullptr) throw ModuleError(true, std::string("it has no function ") + function);
    return found;
}

std::string table_fault(const void* table, std::uint32_t version, std::size_t size, const char* type) {
    const auto* const head = static_cast<const TableHead*>(table);
    if (head->interface_version != version) {
        return "it is for version " + std::to_string(head->interface_version) + " of the interface, not " +
               std::to_string(version);
    }
    if (head->struct_size >= size) return "";
    return std::string("its ") + type + " has " + std::to_string(head->struct_size) + " bytes, not " +
           std::to_string(size);
}

std::string ModuleMessage::text() const {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(text_.data());
    const auto* const end = std::find(begin, begin + text_.size() - 1, 0);
    const std::uint8_t* last = end;  // where the last character begins
    while (last > begin && end - last < 4 && (last == end || is_utf8_continuation(*last))) --last;
    const bool is_cut = last < end && utf8_lead(*last).size > end - last;
    return printable({text_.data(), static_cast<std::size_t>((is_cut ? last : end) - begin)});
}

ModuleFunction find_module(const ModuleKind& kind, const std::vector<std::string>& paths) {
    const std::string need = std::string(kind.need) + " the module " + kind.file;
    if (!kCanLoad) {
        throw ArgumentError(
            need +
            ", and a static cleave cannot load modules; install one for glibc, from a package of Debian or "
            "Python, or from source");
    }
    const std::string path = first_existing(paths);
    if (path.empty()) throw ArgumentError(need + ", which is not installed, see " + kind.page + looked_for(paths));
    try {
        return {path, module_function(path, kind.function)};
    } catch (const ModuleError& error) {
        if (error.is_trusted()) throw_unusable(path, error.what());
        throw ArgumentError("the module " + path + " is not loaded: " + error.what());
    }
}

void check_module(const ModuleKind& kind, const std::string& path, const void* module) {
    if (module == nullptr) throw_unusable(path, "it returned nothing");
    const std::string fault = table_fault(module, kind.version, kind.size, kind.type);
    if (!fault.empty()) throw_unusable(path, fault);
    const std::span members(static_cast<void* const*>(module) + sizeof(TableHead) / sizeof(void*),
                            (kind.size - sizeof(TableHead)) / sizeof(void*));
    if (std::ranges::find(members, nullptr) != members.end()) throw_unusable(path, "it lacks a member");
}

}  // namespace cleave
