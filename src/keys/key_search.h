// Looks for the nearest record that has another value than a given one. Knows no pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "cleave/fields.h"
#include "cleave/scan.h"
#include "keys/key_field.h"
#include "records/private_bytes.h"

namespace cleave {

// For one thread at a time. Members throw InputError as KeyField::raw(), InputChangedError if the bytes are not those
// of the index, what copy_bytes() throws, and Cancelled.
class KeySearch {
public:
    // `index`, `locator` and `key` must outlive it; the locator is one of the index. `memory` is not null.
    KeySearch(const RecordIndex& index, Locator& locator, const KeyField& key,
              const std::shared_ptr<MemoryManager>& memory);

    // Compares with the value of the record at `at` from now on.
    void take_value(Boundary at);

    // Whether the record from `at` to `next` has that value.
    bool has_value(Boundary at, Boundary next);

    // The first record in [at, end) that has another value.
    std::optional<Boundary> first_other(Boundary at, Boundary end);

    // The boundary behind the last record in [from, to) that has another value.
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
    KeptValue value_;  // that others are compared with
};

}  // namespace cleave
