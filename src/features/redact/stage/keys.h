// The content of a KeyRing, private to the library.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/keys.h"
#include "rows/memory/secret_memory.h"

namespace cleave {

// Reads a key into secret memory, from the source that the user names. The bytes of the key are never copied to other
// memory.

constexpr std::size_t kMinKeySize = 32;
constexpr std::size_t kMaxKeySize = 65536;

struct KeySource {
    enum class Kind : std::uint8_t { kFile, kEnvironment, kDescriptor, kGiven };
    std::string name;
    Kind kind = Kind::kFile;
    std::string where;          // the path, the variable or the number, without a version
    std::string text;           // the complete argument, as given
    std::uint64_t version = 0;  // 0 if none is given
};

struct SecretKey {
    SecretMemory memory;
    std::size_t size = 0;

    std::span<const std::uint8_t> bytes() const noexcept { return memory.bytes().first(size); }
};

// Parses NAME=file:PATH, NAME=env:VARIABLE or NAME=fd:N, each perhaps followed by @VERSION; see file_source() for those
// of files. Throws a RuleError that does not contain the text, because what cannot be parsed may itself be a key.
KeySource parse_key_source(const std::string& text);

// The source of a key that the program already has. Throws RuleError for an invalid name.
KeySource given_source(const std::string& name);

// See KeyRing.
SecretKey read_key(const KeySource& source, std::chrono::milliseconds patience);
// The key for a source from given_source().
SecretKey copy_key(const KeySource& source, std::span<const std::uint8_t> bytes);

struct KeyRing::Keys {
    // At the same index: a name, its key, its version (0 if none was given) and its id.
    std::vector<std::string> names;
    std::vector<SecretKey> keys;
    std::vector<std::uint64_t> versions;
    std::vector<std::string> ids;

    // Throws ArgumentError if no key has the name.
    std::size_t index_of(std::string_view name) const;
};

}  // namespace cleave
