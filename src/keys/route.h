// Which records go where: for records in the order of the input, the number of a key or a piece, and their size. Knows
// no columns.
#pragma once

#include <cstdint>
#include <limits>

#include "io/spill.h"

namespace cleave {

// One record, or neighbours that go to the same place.
struct RouteEntry {
    std::uint32_t to;
    std::uint32_t size;  // in bytes
};

// In memory while it is short, in an unlinked temporary file beyond that. For one thread at a time.
class Route {
public:
    // The next record. With `joins`, it joins the entry before it where that has the same `to`. Returns whether there
    // is a new entry. Throws std::system_error.
    bool append(RouteEntry entry, bool joins) {
        if (joins && !entries_.empty()) {
            RouteEntry& before = entries_.back();
            if (before.to == entry.to && entry.size <= std::numeric_limits<std::uint32_t>::max() - before.size) {
                before.size += entry.size;
                return false;
            }
        }
        entries_.append(entry);
        return true;
    }

    // Calls take(entry) for each entry, in order. Throws std::system_error and what `take` throws.
    template <class Take>
    void for_each(const Take& take) const {
        entries_.for_each(take);
    }

private:
    SpillList<RouteEntry> entries_;
};

}  // namespace cleave
