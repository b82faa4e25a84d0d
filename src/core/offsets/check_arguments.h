// Checks policies that callers of the library pass in.
#pragma once

#include "cleave/plan.h"

namespace cleave {

// Returns `policy`. Throws ArgumentError if cleave/plan.h does not allow it.
const Policy& checked(const Policy& policy);
const Policy& checked(Policy&& policy) = delete;  // the reference would outlive it

// Like checked(), for pieces that are ranges: also refuses Policy::by.
const Policy& checked_for_ranges(const Policy& policy);

}  // namespace cleave
