// The old name of cleave/pieces_by_value.h, until 0.3.
#pragma once

#include "cleave/pieces_by_value.h"  // IWYU pragma: export
