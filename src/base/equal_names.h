// Finds equal names. Uses an open-addressing hash table that stores only the indices of names: 16 to 32 bytes per name.
// A set from the standard library would take three times as much, and there may be a million names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/function_ref.h"

namespace cleave {

// For use by one thread at a time.
class EqualNames {
public:
    enum class Case : std::uint8_t { kCounts, kIsIgnored };  // whether the case of ASCII letters matters

    // At most `count` names may be added.
    EqualNames(std::size_t count, Case letters);

    // Adds the name with the index `place`, unless an equal name has already been added. Returns the index of the name
    // that is in the table, which is this name or the earlier one. name_at(i) must return the name with index i, and
    // for a name in the table it must always return the same name.
    std::size_t add(std::size_t place, FunctionRef<std::string_view(std::size_t place)> name_at);

private:
    std::string_view folded(std::string_view name, std::string& buffer) const;

    Case letters_;
    std::uint64_t seed_;
    std::vector<std::size_t> slots_;  // index of a name + 1; 0: free
    std::string wanted_;              // folded
    std::string other_;
};

}  // namespace cleave
