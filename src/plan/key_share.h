// One thread's share of an input for pieces by value: reads the keys of consecutive records. Knows no pieces.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cleave/plan.h"
#include "cleave/scan.h"
#include "plan/key_reader.h"
#include "plan/key_table.h"
#include "plan/route.h"

namespace cleave {

// The records of one key, as far as they are known.
struct KeyRecords {
    std::uint64_t start = 0;         // of the first one
    std::uint64_t first_record = 0;  // its number in the input, from 0
    std::uint64_t length = 0;        // bytes of all of them
    std::uint64_t records = 0;
    std::uint64_t entries = 0;  // of the route
};

// What all shares have in common.
struct KeyQuestion {
    const RecordIndex& index;
    std::span<const KeyColumn> columns;
    const By& by;
    bool joins;  // whether neighbours with one key become one entry of the route
    std::shared_ptr<MemoryManager> memory;
};

struct KeyShare {
    // Reads the records in [from, to). Stops at the first record without the field, which becomes the fault, and at
    // more keys than By::max_keys. Throws InputChangedError if the bytes are not those of the index, what Blob::lend()
    // throws, Cancelled, std::system_error.
    void read(const KeyQuestion& question, Boundary from, Boundary to);

    Boundary from;
    KeyTable keys;                    // not with By::buckets
    std::vector<KeyRecords> records;  // by the number of the key, or of the bucket from 0
    Route route;                      // to these numbers
    std::exception_ptr fault;         // InputError

private:
    bool take(const KeyQuestion& question, std::span<const RecordKey> of_block, const RecordBlock& block,
              std::uint64_t bom);
    void add(std::uint32_t key, std::uint64_t start, std::uint64_t size, std::uint64_t record, bool joins);
};

}  // namespace cleave
