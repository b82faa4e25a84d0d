// Finds the nearest record whose value differs from a given value. Knows nothing about pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "cleave/fields.h"
#include "cleave/scan.h"
#include "rows/records/private_bytes.h"
#include "rows/values/key_field.h"

namespace cleave {

// Use from one thread at a time. Members throw InputError like KeyField::raw(), InputChangedError if the bytes differ
// from those that were indexed, what copy_bytes() throws, and Cancelled.
class KeySearch {
public:
    // `index`, `locator` and `key` must outlive this object, and the locator must belong to the index. `memory` must
    // not be null.
    KeySearch(const RecordIndex& index, Locator& locator, const KeyField& key,
              const std::shared_ptr<MemoryManager>& memory);

    // From now on, compares other values with the value of the record at `at`.
    void take_value(Boundary at);

    // Whether the record from `at` to `next` has that same value.
    bool has_value(Boundary at, Boundary next);

    // Returns the first record in [at, end) that has a different value.
    std::optional<Boundary> first_other(Boundary at, Boundary end);

    // Returns the end of the last record in [from, to) that has a different value.
    std::optional<Boundary> after_last_other(Boundary from, Boundary to);

private:
    RecordBlock read(std::uint64_t offset, std::uint64_t end, std::uint64_t record, bool at_end);
    RecordBlock read_record(Boundary at, std::uint64_t end);
    Value field(const RecordBlock& block, std::size_t record) const;
    bool has_value(const RecordBlock& block, std::size_t record);
    void throw_if_cancelled() const;

    const RecordIndex& index_;
    Locator& locator_;
    const KeyField& key_;
    FieldReader reader_;
    PrivateBytes bytes_;
    KeptValue value_;  // the value to compare others with
};

}  // namespace cleave
