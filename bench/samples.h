// The kinds of CSV that are measured, as records drawn from templates. The bytes are the same on every machine.
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
    std::string_view header;                    // with the columns of every record
    std::array<std::string_view, 4> templates;  // used in turn; each 0 becomes a digit, each * a word
    Dialect dialect = {};                       // the dialect that reads it
};

std::span<const Sample> samples();

// Throws std::invalid_argument, listing the names, if no sample has that name.
const Sample& sample_by_name(std::string_view name);

struct Records {
    std::vector<std::uint8_t> bytes;
    std::vector<std::size_t> ends;  // where each record ends in `bytes`, ascending
};

// Appends the template, filled in with random draws from `seed`, to `bytes`.
void append_drawn(std::string_view record, std::uint32_t& seed, std::vector<std::uint8_t>& bytes);

// Generates whole records, without the header, until they have at least `size` bytes.
Records make_records(const Sample& sample, std::size_t size);

}  // namespace cleave
