// What zlib makes of a gzip stream, and streams to try.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "inputs.h"

namespace cleave::test {

struct GzipOutcome {
    enum class Verdict : std::uint8_t { kWhole, kTooShort, kCorrupt };

    std::string text;  // up to what is wrong
    Verdict verdict = Verdict::kWhole;
    std::size_t place =
        0;  // unless whole: the first byte of which zlib used no bit; the end if the stream is too short

    bool operator==(const GzipOutcome&) const = default;
};

// The stream as zlib reads it if it gets each member in one piece. Zeros may follow the last member; anything else that
// does not begin with the first byte of a member is corrupt.
GzipOutcome outcome_by_zlib(std::string_view stream);

// Texts of up to `most` bytes: noise, records, long and short repetitions, references from far back.
std::string text_to_compress(Random& random, std::size_t most);

// One to four members of such texts: all levels and strategies of zlib, all sizes of windows, flushes of all kinds,
// heads with and without their optional parts; sometimes followed by zeros or by garbage.
std::string some_gzip(Random& random, std::size_t most);

// How many streams a random test tries: `usual` of them, as rounds() has it, unless CLEAVE_GZIP_STREAMS says otherwise.
unsigned gzip_streams(unsigned usual);

// Flips up to five bits, or cuts the stream off. Both are more likely at the beginning, where the heads are.
void damage_gzip(Random& random, std::string& stream);

}  // namespace cleave::test
