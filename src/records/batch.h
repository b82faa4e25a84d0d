// Batches of whole records: what everything above the scan works on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include "cleave/error.h"
#include "cleave/meter.h"
#include "memory/value_buffer.h"

namespace cleave {

// Whole records, in memory that nobody else can change (see records/private_bytes.h).
//
// Where a guessed batch begins and ends was guessed. It is sound if its bytes are whole records. The first one of a
// range begins with a record; so if all batches before a batch are sound, it begins with a record, too. If it is not
// sound, its end was guessed wrong, or its records have a fault.
struct Batch {
    std::span<const std::uint8_t> bytes;
    Place place;           // of a guessed batch without the number of the record
    bool is_exact = true;  // else it is a guessed one
    bool is_last = false;  // of a guessed one: the range ends with it
    bool is_cut = false;   // the beginning of a record that is too long, and nothing else
};

// With its memory, for who makes it.
struct OwnedBatch : Batch {
    // `memory` is not null.
    explicit OwnedBatch(std::shared_ptr<MemoryManager> memory) : copy(std::move(memory)) {}

    ValueBuffer copy;          // has `bytes`
    std::uint64_t number = 0;  // of a guessed one
};

// A guessed batch is not sound.
class DoubtfulBatch : public std::exception {};

struct BatchOptions {
    std::size_t size = 0;                             // about the bytes of a batch
    std::uint64_t max_record = 0;                     // a longer record is cut, in exact batches
    Meter* meter = nullptr;                           // see BatchLoop
    std::shared_ptr<MemoryManager> memory = nullptr;  // of the batches; null: a new manager "system"
};

}  // namespace cleave
