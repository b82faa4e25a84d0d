#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/module.h"

namespace cleave {
namespace {

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

}  // namespace

std::vector<std::string> module_paths(const std::string& name) {
    std::vector<std::string> paths;
    const std::string folder = own_folder();
    if (!folder.empty()) {
        for (const char* const place : {"../lib/cleave/", "../libexec/cleave/", "../../../../libexec/cleave/"}) {
            paths.push_back(std::string(folder).append(place).append(name));
        }
    }
    constexpr std::string_view kConfigured = CLEAVE_MODULE_FOLDER;
    if (kConfigured.starts_with('/')) paths.push_back(std::string(kConfigured).append("/").append(name));
    return paths;
}

}  // namespace cleave
