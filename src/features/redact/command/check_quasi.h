// The part of `cleave check` that measures how far people could be found in a file: check --quasi.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/context.h"
#include "cli/standard_output.h"
#include "features/redact/lane/class_counts.h"
#include "features/redact/lane/rewriting.h"

namespace cleave::cli {

struct QuasiReport {
    std::vector<std::string> columns;
    std::optional<std::string> sensitive;
    ClassCounts written;
    std::optional<ClassCounts> read;  // before the rules, if there are any
    std::uint64_t size = 0;           // of the records as they are written, in bytes
};

// Reads all records. Throws RuleError for columns that do not exist, and what Rewriting::write_records() throws.
QuasiReport measure_quasi(const Arguments& arguments, Rewriting& rewriting);

Json quasi_json(const QuasiReport& report);
void print_quasi(const QuasiReport& report, StandardOutput& out);

}  // namespace cleave::cli
