// One thread's share of an input for pieces by value: reads the keys of consecutive records. Knows no pieces.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "cleave/scan.h"
#include "io/spill.h"
#include "io/temporary_blob.h"
#include "keys/key_reader.h"
#include "keys/key_table.h"
#include "keys/route.h"

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
    const ByValue& by;
    std::uint64_t seed;  // of the hashes of keys
    bool joins;          // whether neighbours with one key become one entry of the route
    std::shared_ptr<MemoryManager> memory;
    const Stage* stage = nullptr;      // changes the records, after their keys were read
    TemporaryBlob* written = nullptr;  // with a stage: gets the records
};

struct KeyShare {
    // Reads the records in [from, to). Stops at the first record without the field, or that the stage refuses, which
    // becomes the fault, and at more keys than ByValue::max_keys. Throws InputChangedError if the bytes are not those
    // of the index, what copy_bytes() throws, Cancelled, std::system_error.
    void read(const KeyQuestion& question, Boundary from, Boundary to);

    std::uint64_t origin = 0;         // where the records of the share lie, one after the other. With a stage in
                                      // KeyQuestion::written, to be set before read(); else in the input
    std::uint64_t size = 0;           // bytes of these records
    KeyTable keys;                    // not with ByValue::buckets
    std::vector<KeyRecords> records;  // by the number of the key, or of the bucket from 0
    SpillList<KeyStart> starts;       // of these numbers; of keys in their order
    Route route;                      // to these numbers
    std::exception_ptr fault;         // InputError

private:
    friend class KeyShares;
    class Reader;
    template <class StartOf>
    void take(const ByValue& by, bool joins, std::span<const RecordKey> of_block, std::uint64_t record,
              const StartOf& start_of);
};

// Shares of records that come in order, whose keys were read elsewhere. For one thread at a time.
class KeyShares {
public:
    // `by` must outlive it. The first record will lie at `origin`, and the others behind it. `memory` is not null.
    KeyShares(const ByValue& by, bool joins, std::uint64_t origin, std::shared_ptr<MemoryManager> memory);

    // The next records, of `size` bytes: their keys, and where in these bytes each begins. Throws as KeyTable and
    // Route.
    void take(std::span<const RecordKey> keys, std::span<const std::uint64_t> starts, std::uint64_t size);
    // Those that follow are of another share.
    void part();

    std::uint64_t size_of_share() const { return shares_.back().size; }
    std::uint64_t records() const { return records_; }
    // There is one, at least. If there were too many keys, the last one has more than ByValue::max_keys.
    std::vector<KeyShare> take_shares() { return std::move(shares_); }

private:
    const ByValue& by_;
    const bool joins_;
    const std::shared_ptr<MemoryManager> memory_;
    std::uint64_t records_ = 0;
    bool is_over_ = false;  // too many keys: the others do not matter
    std::vector<KeyShare> shares_;
};

}  // namespace cleave
