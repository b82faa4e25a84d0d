// The values of one record as text, for headers and small tables. Records of an input are never turned into this.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cleave/fields.h"
#include "features/redact/stage/dialect_codec.h"

namespace cleave {

// The values of record `r`.
std::vector<std::string> values_of(const RecordBlock& block, std::size_t r, const Dialect& dialect,
                                   const DialectCodec& codec);

}  // namespace cleave
