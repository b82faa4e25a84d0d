// One thread's share of an input for pieces by value: reads the keys of consecutive records. Knows no pieces.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "cleave/plan.h"
#include "cleave/scan.h"
#include "io/spill.h"
#include "io/temporary_blob.h"
#include "plan/key_reader.h"
#include "plan/key_table.h"
#include "plan/route.h"

namespace cleave {

// The records of one key, as far as they are known.
struct KeyRecords {
    std::uint64_t length = 0;  // bytes
    std::uint64_t records = 0;
    std::uint64_t entries = 0;  // of the route
};

// The first one of them.
struct KeyStart {
    std::uint32_t key;
    std::uint64_t start;     // from the start of the share
    std::uint64_t record;    // its number in the input, from 0
    std::uint64_t rest = 0;  // not used: SpillList wants a size that is a power of two
};

// What all shares have in common.
struct KeyQuestion {
    const RecordIndex& index;
    std::span<const KeyColumn> columns;
    const By& by;
    std::uint64_t seed;  // of the hashes of keys
    bool joins;          // whether neighbours with one key become one entry of the route
    std::shared_ptr<MemoryManager> memory;
    const Stage* stage = nullptr;      // changes the records, after their keys were read
    TemporaryBlob* written = nullptr;  // with a stage: gets the records
};

struct KeyShare {
    // Reads the records in [from, to). Stops at the first record without the field, or that the stage refuses, which
    // becomes the fault, and at more keys than By::max_keys. Throws InputChangedError if the bytes are not those of the
    // index, what copy_bytes() throws, Cancelled, std::system_error.
    void read(const KeyQuestion& question, Boundary from, Boundary to);

    std::uint64_t origin = 0;         // where the records of the share lie, one after the other. With a stage in
                                      // KeyQuestion::written, to be set before read(); else in the input
    std::uint64_t size = 0;           // bytes of these records
    KeyTable keys;                    // not with By::buckets
    std::vector<KeyRecords> records;  // by the number of the key, or of the bucket from 0
    SpillList<KeyStart> starts;       // of these numbers; of keys in their order
    Route route;                      // to these numbers
    std::exception_ptr fault;         // InputError

private:
    class Reader;
    template <class StartOf>
    void take(const KeyQuestion& question, std::span<const RecordKey> of_block, std::uint64_t record,
              const StartOf& start_of);
};

}  // namespace cleave
