// The check of policies where callers of the library hand them in.
#pragma once

#include "cleave/plan.h"

namespace cleave {

// Returns `policy`. Throws std::invalid_argument if it is none that cleave/plan.h allows.
const Policy& checked(const Policy& policy);

}  // namespace cleave
