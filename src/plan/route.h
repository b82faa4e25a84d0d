// Which records go where: for records in the order of the input, the number of a key or a piece, and their size. Knows
// no columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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
        if (joins && !last_.empty()) {
            RouteEntry& before = last_.back();
            if (before.to == entry.to && entry.size <= std::numeric_limits<std::uint32_t>::max() - before.size) {
                before.size += entry.size;
                return false;
            }
        }
        if (last_.size() == kKept) spill();
        last_.push_back(entry);
        return true;
    }

    // Calls take(entry) for each entry, in order. Throws std::system_error and what `take` throws.
    template <class Take>
    void for_each(const Take& take) const {
        const auto take_all = [&](std::span<const RouteEntry> entries) {
            for (const RouteEntry& entry : entries) take(entry);
        };
        spilled_.for_each_part([&](std::span<const std::uint8_t> part) {
            take_all({reinterpret_cast<const RouteEntry*>(part.data()), part.size() / sizeof(RouteEntry)});
        });
        take_all(last_);
    }

private:
    // What SpillBuffer passes on at a time is a multiple of an entry.
    static_assert(SpillBuffer::kMaxInMemory % sizeof(RouteEntry) == 0);
    static constexpr std::size_t kKept = 4096;

    void spill() {
        spilled_.append({reinterpret_cast<const std::uint8_t*>(last_.data()), last_.size() * sizeof(RouteEntry)});
        last_.clear();
    }

    SpillBuffer spilled_;
    std::vector<RouteEntry> last_;
};

}  // namespace cleave
