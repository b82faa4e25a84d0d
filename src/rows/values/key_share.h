// One thread's share of an input for pieces by value: reads the keys of consecutive records. Knows nothing about
// pieces.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "cleave/scan.h"
#include "core/reader/spill.h"
#include "rows/records/record_rewriter.h"
#include "rows/values/key_reader.h"
#include "rows/values/key_table.h"
#include "rows/values/router.h"
#include "rows/values/scratch_memory.h"

namespace cleave {

// What has been counted so far for one key.
struct KeyRecords {
    std::uint64_t length = 0;  // bytes
    std::uint64_t records = 0;
    std::uint64_t entries = 0;  // entries of the route
};

// The first record with a key.
struct KeyStart {
    std::uint32_t key;
    std::uint64_t start;     // counted from the start of the share
    std::uint64_t record;    // its number in the input, from 0
    std::uint64_t rest = 0;  // unused: SpillList needs a size that is a power of two
};

// The parameters that all shares have in common.
struct KeyQuestion {
    const RecordIndex& index;
    std::span<const KeyColumn> columns;
    const ByValue& by;
    const Router& router;  // counts the records of the index
    std::uint64_t seed;    // for the hashes of keys
    bool joins;            // whether neighbours with the same key become one entry of the route
    std::shared_ptr<MemoryManager> memory;
    MakeRewriter make_rewriter = {};   // of what changes the records after their keys have been read; may be empty
    TemporaryBlob* written = nullptr;  // receives the changed records
};

struct KeyShare {
    // Reads the records in [from, to). Stops at the first record that lacks the field or that the rewriter rejects,
    // which becomes `fault`, and also stops if there are more keys than ByValue::max_values. Throws InputChangedError
    // if the bytes differ from those that were indexed, what copy_bytes() throws, Cancelled, and SystemError.
    void read(const KeyQuestion& question, Boundary from, Boundary to);

    // The offset at which the consecutive records of the share begin. If records are changed, it is an offset in
    // KeyQuestion::written and must be set before read(). Otherwise it is an offset in the input.
    std::uint64_t origin = 0;
    std::uint64_t size = 0;           // size of these records, in bytes
    KeyTable keys;                    // unused if the pieces are fixed
    std::vector<KeyRecords> records;  // indexed by the number of the key or, from 0, of the fixed piece
    SpillList<KeyStart> starts;       // one per key or fixed piece that occurs; keys are in the order of their numbers
    Route route;                      // its entries lead to these numbers
    std::exception_ptr fault;         // InputError

private:
    friend class KeyShares;
    class Reader;
    template <class StartOf>
    void take(const ByValue& by, const Router& router, bool joins, std::span<const RecordKey> of_block,
              std::uint64_t record, const StartOf& start_of);
};

// Builds shares from records that come in order and whose keys have been read elsewhere. Use from one thread at a time.
class KeyShares {
public:
    // `by` must outlive this object. The first record will be at `origin`, followed by the others. `memory` must not be
    // null.
    KeyShares(const ByValue& by, bool joins, std::uint64_t origin, std::shared_ptr<MemoryManager> memory);

    // Adds the next records, which are `size` bytes in total: their keys, and where in these bytes each record begins.
    // Throws like KeyTable and Route.
    void take(std::span<const RecordKey> keys, std::span<const std::uint64_t> starts, std::uint64_t size);
    // Starts a new share: the records that follow do not belong to the current one.
    void part();

    std::uint64_t size_of_share() const { return shares_.back().size; }
    std::uint64_t records() const { return records_; }
    // Returns at least one share. If there were too many keys, the last share has more than ByValue::max_values.
    std::vector<KeyShare> take_shares() { return std::move(shares_); }

private:
    const ByValue& by_;
    const Router router_;
    const bool joins_;
    const std::shared_ptr<MemoryManager> memory_;
    std::uint64_t records_ = 0;
    bool is_over_ = false;  // too many keys: the records that follow do not matter
    std::vector<KeyShare> shares_;
};

}  // namespace cleave
