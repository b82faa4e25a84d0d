#include "stage/forbidden/pattern.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/module.h"
#include "base/module_paths.h"
#include "cleave/error.h"
#include "cleave/stage.h"
#include "memory/plugin.h"
#include "stage/forbidden/forbidden.h"

namespace cleave {
namespace {

// A function rather than a constant, which would have to be relocated whenever the command starts.
ModuleKind module_kind() {
    return {.file = "cleave_re2.so",
            .function = CLEAVE_PATTERNS_SYMBOL,
            .version = CLEAVE_PATTERNS_VERSION,
            .size = sizeof(cleave_patterns),
            .need = "patterns need",
            .page = "doc/guide/redaction.md"};
}

const cleave_patterns& open_module(const std::vector<std::string>& paths) {
    return load_module<cleave_patterns>(module_kind(), paths);
}

void* compile(const cleave_patterns& module, const std::string& text) {
    std::array<char, 256> message{};
    void* const pattern = module.compile(text.data(), text.size(), message.data(), message.size());
    message.back() = 0;
    if (pattern != nullptr) return pattern;
    const std::string why = printable(message.data());
    throw ArgumentError("not a pattern of RE2" + (why.empty() ? "" : ": " + why));
}

bool is_pattern_name(std::string_view name) {
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
    if (!is_pattern_name(name_)) {
        throw ArgumentError("a pattern's name consists of lower-case letters, digits and hyphens");
    }
    if (is_forbidden_kind(name_)) throw ArgumentError("a pattern cannot have the name of a kind");
    compiled_ = std::make_shared<const CompiledPattern>(module_paths(module_kind().file), text_);
}

}  // namespace cleave
