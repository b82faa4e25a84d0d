// Which piece a record goes to if the policy fixes the pieces.
//
//   buckets   hash % buckets
//   parts     all hashes, in order, are divided among the parts in the proportion of their weights. With W, the sum of
//             the weights, floor(hash * W / 2^64) is a number below W; the first part has those below its weight, the
//             second those from there to the sum of the first two weights, and so on.
//
// This is integer arithmetic, so every machine gets the same parts. Multiplying all weights by k changes nothing:
// floor(hash * W / 2^64) < C is hash * W < C * 2^64 for an integer C, and so is the same with kW and kC. Hashes that
// are adjacent modulo the number of buckets are spread over all parts, and the hashes of a part over all buckets, so a
// part may be divided into buckets, and a bucket into parts. A part needs another seed to be divided into parts.
//
// What is hashed is the key or, in a draw, the number of the record. Knows nothing about columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cleave/plan.h"
#include "core/reader/spill.h"

namespace cleave {

// Immutable, so it can be used from any thread.
class Router {
public:
    // The policy must be valid. `first_record` is the number of the first data record, as the callers of piece_of()
    // count records.
    Router(const ByValue& by, std::uint64_t first_record);

    // How many pieces there are; 0 if each key has its own piece.
    std::size_t piece_count() const { return piece_count_; }
    bool has_fixed_pieces() const { return piece_count_ > 0; }

    // The piece, from 0, of record `record`, whose key has this hash. Call it only if the pieces are fixed.
    std::uint32_t piece_of(std::uint64_t hash, std::uint64_t record) const;

private:
    std::size_t piece_count_;
    std::vector<std::uint64_t> ends_;  // the sum of the weights up to each part; empty for buckets
    bool is_draw_;
    std::uint64_t seed_;
    std::uint64_t first_record_;
};

// Says where each record goes: for each record, in input order, the number of a key or a piece, and the size of the
// record. Knows nothing about columns.

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
