// RE2 as a module for patterns: implements src/features/redact/stage/forbidden/pattern_module.h.
#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "features/redact/stage/forbidden/pattern_module.h"

namespace {

// What one pattern may take, compiled and with what its searches remember. A pattern that needs more to be compiled is
// refused; a search that needs more goes on without remembering.
constexpr std::int64_t kMaxMemory = std::int64_t{8} << 20;

// Bounds the time of a search that cannot remember. With 63,000 instructions it takes 0.18 ms for each byte, with
// 180,000, which fit no cache, 2.7 ms, and with 460,000 8.9 ms: alternatives of a[ac]{0,1000}, on a 2025 server.
constexpr int kMostInstructions = 1 << 16;

constexpr int kFailed = -1;

void put(std::string_view text, char* message, std::size_t message_size) {
    const std::size_t size = std::min(text.size(), message_size - 1);
    std::memcpy(message, text.data(), size);
    message[size] = 0;
}

void* compile(const char* text, std::size_t size, char* message, std::size_t message_size) {
    try {
        RE2::Options options;
        options.set_encoding(RE2::Options::EncodingUTF8);
        options.set_log_errors(false);
        options.set_max_mem(kMaxMemory);
        auto* const pattern = new RE2(std::string(text, size), options);
        const bool is_too_large = pattern->ok() && pattern->ProgramSize() > kMostInstructions;
        if (pattern->ok() && !is_too_large) return pattern;
        put(is_too_large ? "pattern too large: fewer repetitions and alternatives are needed" : pattern->error(),
            message, message_size);
        delete pattern;
    } catch (const std::exception& error) {
        put(error.what(), message, message_size);
    } catch (...) {
        put("unknown error", message, message_size);
    }
    return nullptr;
}

int search(const void* pattern, const void* value, std::size_t size) {
    try {
        const std::string_view text(static_cast<const char*>(value), size);
        const auto& compiled = *static_cast<const RE2*>(pattern);
        return compiled.Match(text, 0, size, RE2::UNANCHORED, nullptr, 0) ? CLEAVE_PATTERN_FOUND
                                                                          : CLEAVE_PATTERN_ABSENT;
    } catch (...) {
        return kFailed;
    }
}

void release(void* pattern) { delete static_cast<RE2*>(pattern); }

constexpr cleave_patterns kPatterns = {CLEAVE_PATTERNS_VERSION, sizeof(cleave_patterns), compile, search, release};

}  // namespace

extern "C" __attribute__((visibility("default"))) const cleave_patterns* cleave_patterns_open() { return &kPatterns; }
