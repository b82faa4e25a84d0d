// Finds where the value of a column changes from one record to the next. Reads only the records needed for the answer.
// Knows nothing about pieces.
#pragma once

#include <memory>
#include <vector>

#include "cleave/plan.h"
#include "core/scan/cut_rule.h"
#include "rows/values/key_field.h"
#include "rows/values/key_search.h"

namespace cleave {

// A change is a boundary between two records with different values. Members throw
// InputError for a record without the field, unless Together::accepts_missing is set; InputChangedError if the bytes
// differ from those that were indexed; what copy_bytes() throws; and Cancelled if cancellation is requested through the
// object given to the index. Long runs are searched with as many threads as the index was created with.
class EqualNeighbours final : public CutRule {
public:
    // `index` and `locator` must outlive this object, and the locator must belong to the index. Throws RuleError if
    // there is no such column, and InputError if the record with the column names is too long.
    EqualNeighbours(const RecordIndex& index, Locator& locator, const Together& together, bool has_header);
    ~EqualNeighbours() override;

    bool is_change(Boundary at) override;
    Boundary first_change(Boundary at) override;
    Boundary change_within(Boundary from, Boundary limit) override;

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
