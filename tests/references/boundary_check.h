// Compares what the functions of cleave_scan.h find in a text, whole and in parts, with itself and with the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/cleave_scan.h"
#include "cleave/dialect.h"
#include "cleave/kernel.h"

namespace cleave::test {

cleave_scan_dialect plain_dialect(const Dialect& dialect);

std::string printed(const cleave_scan_row& row);

// The summary of a text whose first byte is at `begin`.
cleave_scan_summary summary_of(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                               std::uint64_t begin);

// Expects the summaries of two parts, or in_three of three in both groupings, to compose to that of the whole, wherever
// the text is cut.
void expect_summary_in_parts(const Kernel& kernel, const Dialect& dialect, std::string_view text, std::uint64_t begin,
                             const cleave_scan_summary& whole, bool in_three);

// Expects two parts, or in_three three parts, scanned one after the other from the start of an input, to give the
// counts, starts and the state of the whole, for every place to cut.
void expect_scan_in_parts(const Kernel& kernel, const Dialect& dialect, std::string_view text, bool in_three);

// Expects a text, cut at these offsets, to have the records and open quotes that the reference reads: scanned in order,
// by starts, and by summaries composed in a random grouping.
void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                         const std::vector<std::size_t>& cuts);

}  // namespace cleave::test
