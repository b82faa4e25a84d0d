// What this project's readers make of a gzip stream, to be compared with what zlib does.
#pragma once

#include <cstddef>
#include <string_view>

#include "gzip_reference.h"

namespace cleave::test {

// Gives a GzipReader `step` more bytes whenever it needs some.
GzipOutcome outcome_in_order(std::string_view stream, std::size_t step);

struct GzipWay {
    unsigned threads;
    std::size_t chunk;  // compressed bytes, at least 1024; 0: as usual
};

GzipOutcome outcome_on_threads(std::string_view stream, const GzipWay& way);

}  // namespace cleave::test
