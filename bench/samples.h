// The kinds of CSV that are measured, as records drawn from templates. The same bytes on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"

namespace cleave {

struct Sample {
    std::string_view name;
    std::string_view header;                    // its columns are those of every record
    std::array<std::string_view, 4> templates;  // taken in turn; each 0 becomes a digit, each * a word
    Dialect dialect = {};                       // that reads it
};

std::span<const Sample> samples();

// Throws std::invalid_argument, with the names to choose from, if there is none of that name.
const Sample& sample_by_name(std::string_view name);

struct Records {
    std::vector<std::uint8_t> bytes;
    std::vector<std::size_t> ends;  // where each record ends in `bytes`, ascending
};

// Appends the template, drawn from `seed` on, to `bytes`.
void append_drawn(std::string_view record, std::uint32_t& seed, std::vector<std::uint8_t>& bytes);

// Whole records, without the header, until they are `size` bytes or more.
Records make_records(const Sample& sample, std::size_t size);

}  // namespace cleave
