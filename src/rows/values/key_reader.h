// Reads the keys of records, for pieces by value. The key of a record consists of its values in one or several columns.
// Knows nothing about pieces.
//
//   one column         the value
//   several columns    for each column, the size of the value as a 64-bit little-endian number, and the value
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "rows/memory/value_buffer.h"
#include "rows/values/key_field.h"

namespace cleave {

// In a key that consists of several columns, the size of a value precedes it.
constexpr std::size_t kSizeOfSize = sizeof(std::uint64_t);

struct RecordKey {
    std::string_view bytes;
    std::uint64_t hash;  // from hash_of_key()
};

// XXH3-64 of the key. Buckets and parts use ByValue::seed. Tables of keys need an unpredictable seed; otherwise the
// author of an input could choose keys that all have the same hash.
std::uint64_t hash_of_key(std::string_view key, std::uint64_t seed);

// The value of column `column` in a key that consists of `columns` columns, as a view of the key.
std::string_view value_in_key(std::string_view key, std::size_t column, std::size_t columns);

// Use from one thread at a time.
class KeyReader {
public:
    // The dialect must be valid, and `memory` must not be null. With `accepts_missing`, a missing field counts as
    // empty. `seed` is used for the hashes.
    KeyReader(const Dialect& dialect, std::span<const KeyColumn> columns, bool accepts_missing, std::uint64_t seed,
              std::shared_ptr<MemoryManager> memory);

    // Reads the keys of all records of the block. Throws InputError for a record without a field, and MemoryError.
    void read(const RecordBlock& block);
    // The same for `records` records: field_of(r, i) is the raw field of record r that belongs to field i of the key.
    // `size` is at least the total size of all fields. The keys are valid for as long as these fields are.
    template <class FieldOf>
    void read(std::size_t records, std::size_t size, const FieldOf& field_of);

    // The keys from the last read(). If it threw, these are the keys of the records before the bad one. They are valid
    // until the next read(), and no longer than the bytes of the block.
    std::span<const RecordKey> keys() const { return keys_; }

private:
    template <class FieldOf>
    std::string_view value(const FieldOf& field_of, std::size_t record);
    template <class FieldOf>
    std::string_view values(const FieldOf& field_of, std::size_t record);
    static std::uint64_t copy(const KeyField& field, Value raw, std::uint8_t* to);
    static std::string_view view_of(const std::uint8_t* data, std::uint64_t size) {
        return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)};
    }

    std::uint64_t seed_;
    std::vector<KeyField> fields_;
    std::vector<RecordKey> keys_;
    ValueBuffer copies_;  // copies of keys that do not appear verbatim in their record
    std::size_t copied_ = 0;
};

template <class FieldOf>
void KeyReader::read(std::size_t records, std::size_t size, const FieldOf& field_of) {
    keys_.clear();
    keys_.reserve(records);
    copied_ = 0;
    // A value is never larger than its field, so the copies never move while there are views of them.
    const std::size_t sizes = fields_.size() > 1 ? kSizeOfSize * records * fields_.size() : 0;
    copies_.renew(size + sizes);
    for (std::size_t r = 0; r < records; ++r) {
        const std::string_view key = fields_.size() == 1 ? value(field_of, r) : values(field_of, r);
        keys_.push_back({key, hash_of_key(key, seed_)});
    }
}

template <class FieldOf>
std::string_view KeyReader::value(const FieldOf& field_of, std::size_t record) {
    const Value raw = field_of(record, 0);
    Value value{};
    if (fields_.front().view(raw, value)) return view_of(value.data, value.size);
    std::uint8_t* const at = copies_.data() + copied_;
    const std::uint64_t size = copy(fields_.front(), raw, at);
    copied_ += size;
    return view_of(at, size);
}

template <class FieldOf>
std::string_view KeyReader::values(const FieldOf& field_of, std::size_t record) {
    std::uint8_t* const begin = copies_.data() + copied_;
    std::uint8_t* at = begin;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
        const std::uint64_t size = copy(fields_[i], field_of(record, i), at + kSizeOfSize);
        std::memcpy(at, &size, kSizeOfSize);
        at += kSizeOfSize + size;
    }
    copied_ += static_cast<std::size_t>(at - begin);
    return view_of(begin, static_cast<std::uint64_t>(at - begin));
}

}  // namespace cleave
