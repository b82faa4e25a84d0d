// Finds names that are equal. A hash table with open addressing that holds nothing but places of names: 16 to 32 bytes
// a name. A set of the standard library would take three times as much, and there may be a million names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// For one thread at a time.
class EqualNames {
public:
    enum class Case : std::uint8_t { kCounts, kIsIgnored };  // of ASCII letters

    // At most `count` names are added.
    EqualNames(std::size_t count, Case letters);

    // Adds the name at that place, unless one that is equal is there already. Returns the place of the one that is
    // there now. name_at(place) is the name at a place: the same in all calls, for names that were added.
    std::size_t add(std::size_t place, const std::function<std::string_view(std::size_t place)>& name_at);

private:
    std::string_view folded(std::string_view name, std::string& buffer) const;

    Case letters_;
    std::uint64_t seed_;
    std::vector<std::size_t> slots_;  // places + 1; 0: free
    std::string wanted_;              // folded
    std::string other_;
};

}  // namespace cleave
