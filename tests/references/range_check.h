// Checks what must hold for the summaries of any ranges of an input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/experimental/range_summary.h"
#include "inputs.h"

namespace cleave::test {

// The ends of the ranges, ascending; the last one is `size`. Some ranges may be empty.
std::vector<std::uint64_t> random_ranges(Random& random, std::uint64_t size, std::size_t most);

// A text of random parts, sometimes with a byte order mark or part of one, and sometimes with empty records at the
// start.
std::string random_ranged_text(Random& random, const Dialect& dialect, std::size_t size);
// Any valid dialect; its quote or delimiter may be a byte of a byte order mark.
Dialect random_dialect(Random& random);

// Summarises each range separately, and expects that
// - the exact machine gives the same summary from every state in which the range may be entered,
// - the summaries, composed in a random grouping, are the summary of the whole text,
// - the fold has the findings of the reference and of one scan,
// - plans for random policies follow the rules, also after a round trip through JSON.
void check_ranges(const std::string& text, const Dialect& dialect, const std::vector<std::uint64_t>& ends,
                  Random& random);

// The same for every range of the text, without plans; also composes every two neighbours.
void check_every_range(const std::string& text, const Dialect& dialect);

// For a text of several blocks, cut at a few offsets.
void check_large(const std::string& text, const Dialect& dialect, std::size_t block_size = std::size_t{1} << 20);

// The size of the text's summary if all its numbers had 13 digits.
std::size_t largest_json(const std::string& text, const Dialect& dialect);

// Expects the fold to report gaps, overlaps, different dialects and incomplete summaries, and compose() and plan() to
// refuse what they must refuse.
void check_refusals();

}  // namespace cleave::test
