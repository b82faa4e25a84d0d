// Counts the contents of a text according to doc/internals/design.md, "What a record is". As in reference.h, the
// grammar gives each byte its role; everything is then counted from the roles.
#pragma once

#include <optional>
#include <string_view>

#include "cleave/dialect.h"
#include "cleave/examine.h"

namespace cleave::test {

struct CensusReference {
    Census census;
    std::uint64_t fields = 0;
    RecordExtent header;
};

// The dialect must be valid. Lists the first `max_listed` ragged records.
CensusReference count_by_rules(std::string_view text, const Dialect& dialect, std::uint64_t max_listed);

// The excerpt around the byte at `offset`. The text must be ASCII.
Excerpt excerpt_by_rules(std::string_view text, std::uint64_t offset);

}  // namespace cleave::test
