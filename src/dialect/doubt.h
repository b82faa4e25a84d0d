// What speaks against the dialect that an input is read by.
#pragma once

#include "cleave/dialect.h"
#include "dialect/fit.h"

namespace cleave {

// The first doubt, in the order of DialectDoubt, that the head raises about `sniffed`, which is settled but for it.
DialectDoubt doubt_of(const SniffedDialect& sniffed, const Head& head);

}  // namespace cleave
