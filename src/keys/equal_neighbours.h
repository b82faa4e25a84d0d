// Where the value of a column changes from one record to the next. Reads only the records that a question is about.
// Knows no pieces.
#pragma once

#include <memory>
#include <vector>

#include "cleave/plan.h"
#include "keys/key_field.h"
#include "keys/key_search.h"

namespace cleave {

// For one thread at a time. A change is a boundary between two records with different values. Members throw InputError
// for a record without the field, unless Together::accepts_missing, InputChangedError if the bytes are not those of the
// index, what copy_bytes() throws, and Cancelled by the cancellation of the index. Long runs are searched by as many
// threads as the index was made with.
class EqualNeighbours {
public:
    // Both must outlive it; the locator is one of the index. Throws RuleError if there is no such column, and
    // InputError if the record that has the names of the columns is too long.
    EqualNeighbours(const RecordIndex& index, Locator& locator, const Together& together, bool has_header);
    EqualNeighbours(const EqualNeighbours&) = delete;
    EqualNeighbours& operator=(const EqualNeighbours&) = delete;
    ~EqualNeighbours();

    // `at` lies between two records.
    bool is_change(Boundary at);

    // The first change at `at`, which lies between two records, or after it; else the end of the input.
    Boundary first_change(Boundary at);

    // The last change in (from, limit]; else the first one after `limit`, or the end of the input. `limit` lies between
    // two records.
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
    std::vector<std::unique_ptr<Helper>> helpers_;  // made when they are needed
};

}  // namespace cleave
