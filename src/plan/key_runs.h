// Where the value of a column changes from one record to the next. Reads only the records that a question is about.
// Knows no pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cleave/fields.h"
#include "cleave/plan.h"
#include "plan/key_field.h"

namespace cleave {

// For one thread at a time. A change is a boundary between two records with different values. Members throw InputError
// for a record without the field, unless Together::accepts_missing, InputChangedError if the bytes are not those of the
// index, and what Blob::lend() throws.
class KeyRuns {
public:
    // Both must outlive it; the locator is one of the index. Throws RuleError if there is no such column, and
    // InputError if the record that has the names of the columns is malformed.
    KeyRuns(const RecordIndex& index, Locator& locator, const Together& together, bool has_header);

    // `at` lies between two records.
    bool is_change(Boundary at);

    // The first change at `at`, which lies between two records, or after it; else the end of the input.
    Boundary first_change(Boundary at);

    // The last change in (from, limit]; else the first one after `limit`, or the end of the input. `limit` lies between
    // two records.
    Boundary change_within(Boundary from, Boundary limit);

private:
    RecordBlock read(std::uint64_t offset, std::uint64_t end, std::uint64_t record, bool at_end);
    RecordBlock read_record(Boundary at, std::uint64_t end);
    Value field(const RecordBlock& block, std::size_t record) const;
    void take_value(Boundary at);
    bool has_value(const RecordBlock& block, std::size_t record);
    std::optional<Boundary> first_other(Boundary at);
    std::optional<Boundary> after_last_other(Boundary from, Boundary to);

    const RecordIndex& index_;
    Locator& locator_;
    KeyField key_;
    std::shared_ptr<MemoryManager> memory_;
    FieldReader reader_;
    std::vector<std::uint8_t> lent_;  // for Blob::lend()
    KeptValue value_;                 // that others are compared with
};

}  // namespace cleave
