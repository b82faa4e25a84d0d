// Modules: shared libraries with parts of this program that need more than the program itself does. A module exports
// one function. It returns a struct that consists of the version of the interface, of its own size, and of pointers to
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

struct ModuleKind {
    const char* file;       // the name of the library, such as "cleave_re2.so"
    const char* function;   // that it exports; it takes nothing
    std::uint32_t version;  // of the interface
    std::size_t size;       // of the struct
    const char* need;       // for messages: "patterns need"
    const char* page;       // of the manual that tells how to get it
};

struct ModuleFunction {
    std::string path;  // of the module
    void* function;
};

// Loads the first existing file of `paths`, which stays loaded until the process ends, and finds its function. Throws
// ArgumentError if there is no such file, if another user could have written it, or if it has no such function.
ModuleFunction find_module(const ModuleKind& kind, const std::vector<std::string>& paths);

// Throws ArgumentError unless what the function returned is a struct of this kind, with at least the members that are
// expected, none of them null.
void check_module(const ModuleKind& kind, const std::string& path, const void* module);

// Both, for a struct of this type. Any thread may call it.
template <class Module>
const Module& load_module(const ModuleKind& kind, const std::vector<std::string>& paths) {
    const ModuleFunction found = find_module(kind, paths);
    const Module* const module = reinterpret_cast<const Module* (*)()>(found.function)();
    check_module(kind, found.path, module);
    return *module;
}

}  // namespace cleave
