// Finds where the value of one column changes, in batches of written records. Used for Policy::together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/fields.h"
#include "rows/values/key_field.h"

namespace cleave {

// Use from one thread at a time.
class BatchKeys {
public:
    // `key` and `kernel` must outlive this object. `memory` must not be null.
    BatchKeys(const KeyField& key, const Dialect& dialect, const Kernel& kernel,
              const std::shared_ptr<MemoryManager>& memory);

    // Reads a batch of `count` complete records. Throws InputError like KeyField::raw().
    void read(std::span<const std::uint8_t> written, std::size_t count);

    // changes()[r] says whether record r of the batch and the record before it have different values. For record 0,
    // follow() sets it.
    const std::vector<char>& changes() const { return changes_; }

    // Call this for each batch, in order, with the same `last`. `last` holds the last value of the previous batch, and
    // is then set to the last value of this batch. The first record of the first batch counts as a change.
    class Last {
    public:
        explicit Last(const std::shared_ptr<MemoryManager>& memory) : value_(memory) {}

    private:
        friend class BatchKeys;
        KeptValue value_;
        bool is_known_ = false;
    };
    void follow(Last& last);

private:
    const KeyField& key_;
    FieldReader reader_;
    RecordBlock block_;
    KeptValue value_;
    std::vector<char> changes_;
};

}  // namespace cleave
