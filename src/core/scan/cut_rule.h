// Where pieces may be cut if not every record boundary will do: see Policy::together.
#pragma once

#include <memory>

#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

// A change is a boundary at which a piece may begin. Use from one thread at a time. `at` and `limit` must lie between
// two records.
class CutRule {
public:
    CutRule() = default;
    CutRule(const CutRule&) = delete;
    CutRule& operator=(const CutRule&) = delete;
    virtual ~CutRule() = default;

    virtual bool is_change(Boundary at) = 0;

    // Returns the first change at or after `at`, or the end of the input if there is none.
    virtual Boundary first_change(Boundary at) = 0;

    // Returns the last change in (from, limit]. If there is none, returns the first change after `limit`, or the end of
    // the input.
    virtual Boundary change_within(Boundary from, Boundary limit) = 0;
};

// Changes are where the value of the column changes: see rows/values/equal_neighbours.cpp.
std::unique_ptr<CutRule> make_cut_rule(const RecordIndex& index, Locator& locator, const Together& together,
                                       bool has_header);

}  // namespace cleave
