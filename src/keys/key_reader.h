// The keys of records, for pieces by value: what a record has in one or several columns. Knows no pieces.
//
//   of one column    the value
//   of several       for each column, the size of the value as 64 bits, little-endian, and the value
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "keys/key_field.h"
#include "memory/value_buffer.h"

namespace cleave {

class StageWorker;

struct RecordKey {
    std::string_view bytes;
    std::uint64_t hash;  // by hash_of_key()
};

// XXH3-64 of the key. With the seed 0 it is that of ByValue::buckets. Tables of keys need a seed that nobody knows
// beforehand: whoever writes an input could otherwise choose keys that all have the same hash.
std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed);

// The value of a column in a key of so many columns. A view of the key.
std::string_view value_in_key(std::string_view key, std::size_t column, std::size_t columns);

// For one thread at a time.
class KeyReader {
public:
    // The dialect has no fault; `memory` is not null. With `accepts_missing` a record without a field has the empty
    // value there. `seed` is that of the hashes.
    KeyReader(const Dialect& dialect, std::span<const KeyColumn> columns, bool accepts_missing, std::uint64_t seed,
              std::shared_ptr<MemoryManager> memory);

    // Reads the keys of all records of the block. Throws InputError for a record without a field, MemoryError.
    void read(const RecordBlock& block);
    // The same of records whose fields a worker has kept; keys are valid as long as these are.
    void read(const StageWorker& worker);

    // Of the last read(); if that has thrown, of the records before the bad one. Valid until the next read(), and as
    // long as the bytes of the block.
    std::span<const RecordKey> keys() const { return keys_; }

private:
    template <class FieldOf>
    void read(std::size_t records, std::size_t size, const FieldOf& field_of);
    template <class FieldOf>
    std::string_view value(const FieldOf& field_of, std::size_t record);
    template <class FieldOf>
    std::string_view values(const FieldOf& field_of, std::size_t record);
    static std::uint64_t copy(const KeyField& field, Value raw, std::uint8_t* to);

    std::uint64_t seed_;
    std::vector<KeyField> fields_;
    std::vector<RecordKey> keys_;
    ValueBuffer copies_;  // of keys that do not stand in the record as they are
    std::size_t copied_ = 0;
};

}  // namespace cleave
