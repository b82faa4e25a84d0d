// The content of a KeyRing, private to the library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/keys.h"
#include "features/redact/stage/key_source.h"

namespace cleave {

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
