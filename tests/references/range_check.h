// What must hold of the summaries of any ranges that an input is cut into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/range_summary.h"
#include "inputs.h"

namespace cleave::test {

// The ends of the ranges: ascending, the last one is `size`. Some ranges may be empty.
std::vector<std::uint64_t> random_ranges(Random& random, std::uint64_t size, std::size_t most);

// Text of random pieces: with a byte order mark or a part of one, with empty records first.
std::string random_ranged_text(Random& random, const Dialect& dialect, std::size_t size);
// Of every sort, the bytes of a byte order mark as quotes and delimiters among them.
Dialect random_dialect(Random& random);

// Summarises each range on its own, and expects that
// - the exact machine gives the same summary, from every state that the range may be entered in,
// - the summaries, composed in a random grouping, are the summary of the whole text,
// - the fold has the findings of the reference and of one scan,
// - plans by random policies are those that the rules give, also after a trip through JSON.
void check_ranges(const std::string& text, const Dialect& dialect, const std::vector<std::uint64_t>& ends,
                  Random& random);

// The same of every range of the text, but for plans: and composes every two neighbours.
void check_every_range(const std::string& text, const Dialect& dialect);

// Of a text of several blocks, cut at a few places.
void check_large(const std::string& text, const Dialect& dialect, std::size_t block_size = std::size_t{1} << 20);

// The size of the text's summary, if its numbers had 13 digits.
std::size_t largest_json(const std::string& text, const Dialect& dialect);

// What the fold says of gaps, overlaps, other dialects and incomplete summaries, and what compose() and plan() refuse.
void check_refusals();

}  // namespace cleave::test
