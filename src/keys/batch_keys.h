// The values of one column in batches of written records: where they change, for Policy::together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/fields.h"
#include "keys/key_field.h"

namespace cleave {

// For one thread at a time.
class BatchKeys {
public:
    // `key` and `kernel` must outlive it; `memory` is not null.
    BatchKeys(const KeyField& key, const Dialect& dialect, const Kernel& kernel,
              const std::shared_ptr<MemoryManager>& memory);

    // Reads a batch: `count` whole records. Throws InputError as KeyField::raw().
    void read(std::span<const std::uint8_t> written, std::size_t count);

    // Whether record r of the batch has another value than the record before it. That of record 0 is set by follow().
    const std::vector<char>& changes() const { return changes_; }

    // To be called for each batch, in order, with the same `last`: the last value of the batch before this one, which
    // becomes the last value of this one. The first record of the first batch is a change.
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
