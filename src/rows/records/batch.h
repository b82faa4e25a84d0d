// Batches of whole records, which everything above the scan works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "cleave/error.h"
#include "cleave/meter.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

// Whole records, in memory that no other process can change (see records/private_bytes.h).
//
// The beginning and the end of a guessed batch are guesses. The batch is sound if its bytes are whole records. The
// first batch of a range begins with a record, so a batch begins with a record if all batches before it are sound. If
// such a batch is not sound, its end was guessed wrong or its records have a fault.
struct Batch {
    std::span<const std::uint8_t> bytes;
    Place place;           // the record number is not known in a guessed batch
    bool is_exact = true;  // false: guessed
    bool is_last = false;  // if guessed: it is the last batch of the range
    bool is_cut = false;   // it holds only the beginning of a record that is too long
};

// A batch that owns its memory, for the code that creates batches.
struct OwnedBatch : Batch {
    // `memory` must not be null.
    explicit OwnedBatch(std::shared_ptr<MemoryManager> memory) : copy(std::move(memory)) {}

    ValueBuffer copy;          // holds `bytes`
    std::uint64_t number = 0;  // the number of a guessed batch
};

// The usual size of a batch whose fields are read: records, their fields and what becomes of them fit into the
// second-level cache.
inline constexpr std::size_t kBlockSize = std::size_t{256} << 10;

// Thrown if a guessed batch is not sound.
class DoubtfulBatch : public std::exception {};

struct BatchOptions {
    std::size_t size = 0;                             // approximate size of a batch in bytes
    std::uint64_t max_record = 0;                     // a longer record is cut in an exact batch
    Meter* meter = nullptr;                           // see BatchLoop
    std::shared_ptr<MemoryManager> memory = nullptr;  // the memory for batches; null: a new manager "system"
};

}  // namespace cleave
