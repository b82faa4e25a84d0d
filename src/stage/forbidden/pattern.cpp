#include "stage/forbidden/pattern.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/module_paths.h"
#include "base/shared_library.h"
#include "cleave/error.h"
#include "cleave/stage.h"
#include "memory/plugin.h"
#include "stage/forbidden/forbidden.h"

namespace cleave {
namespace {

constexpr const char* kModuleName = "cleave_re2.so";

#ifdef CLEAVE_CANNOT_LOAD
constexpr bool kCanLoad = false;
#else
constexpr bool kCanLoad = true;
#endif

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

const cleave_patterns& open_module(const std::vector<std::string>& paths) {
    if (!kCanLoad) {
        throw ArgumentError(
            "patterns need the module cleave_re2.so, and a static cleave cannot load modules; install a cleave from a "
            "package of Debian or Python, or from source");
    }
    const std::string path = first_existing(paths);
    if (path.empty()) {
        std::string looked;
        for (const std::string& one : paths) looked += (looked.empty() ? "" : ", ") + one;
        throw ArgumentError(
            "patterns need the module cleave_re2.so, which is not installed, see "
            "doc/guide/redaction.md; looked for " +
            looked);
    }
    const auto open = reinterpret_cast<cleave_patterns_open_function>(::dlsym(load(path), CLEAVE_PATTERNS_SYMBOL));
    if (open == nullptr) throw_unusable(path, "it has no function " CLEAVE_PATTERNS_SYMBOL);
    const cleave_patterns* const module = open();
    if (module == nullptr) throw_unusable(path, "it returned nothing");
    if (module->interface_version != CLEAVE_PATTERNS_VERSION) {
        throw_unusable(path, "it is for version " + std::to_string(module->interface_version) +
                                 " of the interface, not " + std::to_string(CLEAVE_PATTERNS_VERSION));
    }
    if (module->struct_size < sizeof(cleave_patterns)) {
        throw_unusable(path, "its cleave_patterns has " + std::to_string(module->struct_size) + " bytes, not " +
                                 std::to_string(sizeof(cleave_patterns)));
    }
    if (module->compile == nullptr || module->search == nullptr || module->release == nullptr) {
        throw_unusable(path, "it lacks a member");
    }
    return *module;
}

void* compile(const cleave_patterns& module, const std::string& text) {
    std::array<char, 256> message{};
    void* const pattern = module.compile(text.data(), text.size(), message.data(), message.size());
    message.back() = 0;
    if (pattern != nullptr) return pattern;
    const std::string why = printable(message.data());
    throw ArgumentError("not a pattern of RE2" + (why.empty() ? "" : ": " + why));
}

bool is_name(std::string_view name) {
    const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !name.empty() && std::ranges::all_of(name, is_allowed);
}

}  // namespace

CompiledPattern::CompiledPattern(const std::vector<std::string>& paths, const std::string& text)
    : module_(open_module(paths)), pattern_(compile(module_, text), module_.release) {
    if (is_in({nullptr, 0})) throw ArgumentError("the pattern matches the empty text, so it would be in every value");
}

ForbiddenPattern::ForbiddenPattern(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
    if (!is_name(name_)) {
        throw ArgumentError("a pattern's name consists of lower-case letters, digits and hyphens");
    }
    if (is_forbidden_kind(name_)) throw ArgumentError("a pattern cannot have the name of a kind");
    compiled_ = std::make_shared<const CompiledPattern>(module_paths(kModuleName), text_);
}

}  // namespace cleave
