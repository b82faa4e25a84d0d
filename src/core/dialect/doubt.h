// Reasons to doubt the dialect chosen for an input.
#pragma once

#include "cleave/dialect.h"
#include "core/dialect/fit.h"

namespace cleave {

// The first doubt about `sniffed` that the head raises, in the order of DialectDoubt. The dialect in `sniffed` must
// already be settled.
DialectDoubt doubt_of(const SniffedDialect& sniffed, const Head& head);

}  // namespace cleave
