// Finds where the value of a column changes from one record to the next. Reads only the records needed for the answer.
// Knows nothing about pieces.
#pragma once

#include <memory>
#include <vector>

#include "cleave/plan.h"
#include "keys/key_field.h"
#include "keys/key_search.h"

namespace cleave {

// Use from one thread at a time. A change is a boundary between two records with different values. Members throw
// InputError for a record without the field, unless Together::accepts_missing is set; InputChangedError if the bytes
// differ from those that were indexed; what copy_bytes() throws; and Cancelled if cancellation is requested through the
// object given to the index. Long runs are searched with as many threads as the index was created with.
class EqualNeighbours {
public:
    // `index` and `locator` must outlive this object, and the locator must belong to the index. Throws RuleError if
    // there is no such column, and InputError if the record with the column names is too long.
    EqualNeighbours(const RecordIndex& index, Locator& locator, const Together& together, bool has_header);
    EqualNeighbours(const EqualNeighbours&) = delete;
    EqualNeighbours& operator=(const EqualNeighbours&) = delete;
    ~EqualNeighbours();

    // Whether `at`, which must be between two records, is a change.
    bool is_change(Boundary at);

    // Returns the first change at or after `at`, or the end of the input if there is none. `at` must be between two
    // records.
    Boundary first_change(Boundary at);

    // Returns the last change in (from, limit]. If there is none, returns the first change after `limit`, or the end of
    // the input. `limit` must be between two records.
    Boundary change_within(Boundary from, Boundary limit);

private:
    struct Helper;

    Boundary first_other(Boundary run, Boundary at);
    Boundary slice_end(Boundary begin, std::uint64_t size);
    Boundary first_other_far(Boundary run, Boundary at);

    const RecordIndex& index_;
    Locator& locator_;
    KeyField key_;
    std::shared_ptr<MemoryManager> memory_;
    KeySearch search_;
    std::vector<std::unique_ptr<Helper>> helpers_;  // created when needed
};

}  // namespace cleave
