// The report of `check`, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cleave/compression.h"
#include "cleave/dialect.h"
#include "cleave/examine.h"
#include "cli/standard_output.h"

namespace cleave::cli {

struct CheckReport {
    std::string path;
    bool has_header = true;  // if there is a record
    bool bom = false;
    Compression compression = Compression::kNone;
    std::uint64_t file_size = 0;  // of the compressed file; 0 if it is not known
    SniffedDialect sniffed;
    bool terminator_given = false;
    Examination examination;
    std::map<std::uint64_t, std::uint64_t> lines;  // the line of each problem, by its byte; empty for a stream
    bool sound = true;

    // How many records are not data: the preamble and the header.
    std::uint64_t header_records() const { return examination.findings.records_before_data(has_header); }
    // Whether there is a header.
    bool shows_header() const { return header_records() > examination.findings.preamble_records; }
    std::uint64_t records() const { return examination.findings.records - header_records(); }
};

// The names in the header. Empty if there is no header, or if it is longer than the part that is kept.
std::vector<std::string> column_names(const CheckReport& report);

void print_text(StandardOutput& out, const CheckReport& report, bool colour);
// One object on a line.
void print_json(StandardOutput& out, const CheckReport& report);

}  // namespace cleave::cli
