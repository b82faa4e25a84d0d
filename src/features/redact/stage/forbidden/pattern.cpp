#include "features/redact/stage/forbidden/pattern.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/module.h"
#include "base/mutex.h"
#include "cleave/error.h"
#include "cleave/stage.h"
#include "features/redact/stage/forbidden/forbidden.h"
#include "rows/memory/value_buffer.h"

namespace cleave {
namespace {

// A function rather than a constant, which would have to be relocated whenever the command starts.
ModuleKind module_kind() {
    return {.file = "cleave_re2.so",
            .function = CLEAVE_PATTERNS_SYMBOL,
            .type = "cleave_patterns",
            .version = CLEAVE_PATTERNS_VERSION,
            .size = sizeof(cleave_patterns),
            .need = "patterns need",
            .page = "doc/guide/redaction.md"};
}

const cleave_patterns& open_module(const std::vector<std::string>& paths) {
    return load_module<cleave_patterns>(module_kind(), paths);
}

void* compile(const cleave_patterns& module, const std::string& text) {
    ModuleMessage message;
    void* const pattern = module.compile(text.data(), text.size(), message.data(), message.size());
    if (pattern != nullptr) return pattern;
    const std::string why = message.text();
    throw ArgumentError("not a pattern of RE2" + (why.empty() ? "" : ": " + why));
}

// A search by a thread of its own.
struct Search {
    explicit Search(std::shared_ptr<MemoryManager> memory) : value(std::move(memory)) {}

    ValueBuffer value;
    Mutex mutex;
    ConditionVariable ended;
    std::optional<bool> is_found CLEAVE_GUARDED_BY(mutex);
};

bool is_pattern_name(std::string_view name) {
    const auto is_allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    return !name.empty() && std::ranges::all_of(name, is_allowed);
}

}  // namespace

CompiledPattern::CompiledPattern(const std::vector<std::string>& paths, const std::string& text)
    : module_(open_module(paths)), pattern_(compile(module_, text), module_.release) {
    if (is_in({nullptr, 0})) throw ArgumentError("the pattern matches the empty text, so it would be in every value");
}

bool is_in(const std::shared_ptr<const CompiledPattern>& pattern, Value value,
           const std::shared_ptr<MemoryManager>& memory, const Cancellation* cancellation) {
    // Searched in less time than it takes to start a thread or, at the worst rate, in seconds.
    constexpr std::size_t kShort = std::size_t{16} << 10;
    constexpr std::chrono::milliseconds kBetweenLooks(20);
    if (cancellation == nullptr) return pattern->is_in(value);
    cancellation->throw_if_requested();
    if (value.size <= kShort) return pattern->is_in(value);
    const auto search = std::make_shared<Search>(MemoryManager::or_default(memory));
    search->value.reserve(value.size);
    std::memcpy(search->value.data(), value.data, value.size);
    try {
        std::thread([pattern, search, size = value.size] {
            const bool is_found = pattern->is_in({search->value.data(), size});
            const MutexLock lock(search->mutex);
            search->is_found = is_found;
            search->ended.notify_one();
        }).detach();
    } catch (const std::system_error&) {  // reaching a limit on threads is not a failure
        return pattern->is_in(value);
    }
    MutexLock lock(search->mutex);
    while (!search->is_found) {
        cancellation->throw_if_requested();
        search->ended.wait_for(lock, kBetweenLooks);
    }
    return *search->is_found;
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
