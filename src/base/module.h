// Modules: shared libraries with parts of this program that need more than the program itself does, and the memory
// managers and devices of others. A module exports one function, which returns a table: a struct that begins with the
// version of the interface and its own size. Here a name becomes a path, the path a function, and a table is checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/error.h"

namespace cleave {

// A module cannot be used. `what()` is the reason alone, such as "it has no function open".
class ModuleError : public ErrorOf<std::runtime_error> {
public:
    ModuleError(bool is_trusted, const std::string& what) : ErrorOf(what), is_trusted_(is_trusted) {}

    // False if another user could have written the module, which was therefore not loaded.
    bool is_trusted() const noexcept { return is_trusted_; }

private:
    bool is_trusted_;
};

// Where to look for the module with this file name, in order: in ../lib/cleave beside the file that contains this code;
// in libexec/cleave of the folder into which pip installed that file, as bin/cleave or into a folder of
// lib/pythonX.Y/site-packages; then in the configured folder. There need not be a file. pip --target would not install
// what a wheel has in lib/cleave.
std::vector<std::string> module_paths(const std::string& name);

// The first of these paths that exists. Empty if none does.
std::string first_existing(const std::vector<std::string>& paths);

// "; looked for A, B", for the message that none of the paths exists.
std::string looked_for(const std::vector<std::string>& paths);

// Loads the module at the absolute `path`, as load_library() does, and finds its function. Throws ModuleError. Any
// thread may call it.
void* module_function(const std::string& path, const char* function);

// What is wrong with a table: its version or its size. Empty if nothing is. `type` is the name of its struct.
std::string table_fault(const void* table, std::uint32_t version, std::size_t size, const char* type);

// Room for a message of a module, which may forget its end or cut a character in two.
class ModuleMessage {
public:
    char* data() noexcept { return text_.data(); }
    std::size_t size() const noexcept { return text_.size(); }
    // The message in whole characters, its control characters visible.
    std::string text() const;

private:
    std::array<char, 256> text_{};
};

// A kind of module that comes with this program.
struct ModuleKind {
    const char* file;       // the name of the library, such as "cleave_re2.so"
    const char* function;   // that it exports; it takes nothing
    const char* type;       // of the table that the function returns, all of whose other members are pointers
    std::uint32_t version;  // of the interface
    std::size_t size;       // of the table
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

// Throws ArgumentError unless what the function returned is a table of this kind, without a null member.
void check_module(const ModuleKind& kind, const std::string& path, const void* module);

// Both, for a table of this type. Any thread may call it.
template <class Module>
const Module& load_module(const ModuleKind& kind, const std::vector<std::string>& paths) {
    const ModuleFunction found = find_module(kind, paths);
    const Module* const module = reinterpret_cast<const Module* (*)()>(found.function)();
    check_module(kind, found.path, module);
    return *module;
}

}  // namespace cleave
