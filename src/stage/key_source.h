// Reads one key from where the user says it is, into secret memory. The bytes are never copied to other memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "memory/secret_memory.h"

namespace cleave {

constexpr std::size_t kMinKeySize = 32;
constexpr std::size_t kMaxKeySize = 65536;

struct KeySource {
    enum class Kind : std::uint8_t { kFile, kEnvironment, kDescriptor, kGiven };
    std::string name;
    Kind kind = Kind::kFile;
    std::string where;  // the path, the variable, the number
    std::string text;   // all of it, as it was given
};

struct SecretKey {
    SecretMemory memory;
    std::size_t size = 0;

    std::span<const std::uint8_t> bytes() const noexcept { return memory.bytes().first(size); }
};

// NAME=file:PATH, NAME=env:VARIABLE or NAME=fd:N. Throws RuleError. The error has no text: what cannot be read may be a
// key itself.
KeySource parse_key_source(const std::string& text);

// The source of a key that the program has already. Throws RuleError for a bad name.
KeySource given_source(const std::string& name);

// See KeyRing.
SecretKey read_key(const KeySource& source, std::chrono::milliseconds patience);
// The key of a given source.
SecretKey copy_key(const KeySource& source, std::span<const std::uint8_t> bytes);

}  // namespace cleave
