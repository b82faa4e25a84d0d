// What this project's readers make of a gzip stream, to be compared with what zlib does.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "features/compressed/inflate/block.h"
#include "gzip_reference.h"

namespace cleave::test {

// Both append the places that are passed to `places`, if it is not null, with their offset in the text and their bit in
// the stream.

// Gives a GzipReader `step` more bytes whenever it needs some.
GzipOutcome outcome_in_order(std::string_view stream, std::size_t step, std::vector<PassedPlace>* places = nullptr);

struct GzipWay {
    unsigned threads;
    std::size_t chunk;  // compressed bytes, at least 1024; 0: as usual
};

GzipOutcome outcome_on_threads(std::string_view stream, const GzipWay& way, std::vector<PassedPlace>* places = nullptr);

}  // namespace cleave::test
