// Says where each record goes: for each record, in input order, the number of a key or a piece, and the size of the
// record. Knows nothing about columns.
#pragma once

#include <cstdint>
#include <limits>

#include "core/reader/spill.h"

namespace cleave {

// One record, or several neighbours that go to the same place.
struct RouteEntry {
    std::uint32_t to;
    std::uint32_t size;  // in bytes
};

// A short route is kept in memory; a long one is spilled to an unlinked temporary file. Use from one thread at a time.
class Route {
public:
    // Appends the next record. If `joins` is set and the previous entry has the same `to`, extends that entry, as long
    // as its size allows. Returns whether a new entry was added. Throws SystemError.
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

    // Calls take(entry) for each entry, in order. Throws SystemError, and what `take` throws.
    template <class Take>
    void for_each(const Take& take) const {
        entries_.for_each(take);
    }

private:
    SpillList<RouteEntry> entries_;
};

}  // namespace cleave
