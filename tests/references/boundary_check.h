// Compares what the functions of cleave_scan.h find in a text, whole and in parts, with itself and with the reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cleave/cleave_scan.h"
#include "cleave/dialect.h"
#include "cleave/kernel.h"

namespace cleave::test {

cleave_scan_dialect plain_dialect(const Dialect& dialect);

// The summary of a text whose first byte is at `begin`.
cleave_scan_summary summary_of(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                               std::uint64_t begin);

// Expects three parts, any of which may be empty, to give what the whole gives, wherever the text is cut: scanned one
// after the other, and as summaries composed in both groupings.
void expect_same_in_parts(const Kernel& kernel, const Dialect& dialect, std::string_view text);

// Expects a text, cut at these offsets, to have the records and open quotes that the reference reads: scanned in order,
// by starts, and by summaries composed in a random grouping.
void expect_as_reference(const Kernel& kernel, const Dialect& dialect, std::string_view text,
                         const std::vector<std::size_t>& cuts);

}  // namespace cleave::test
