// The report of `check`, as text and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cleave/compression.h"
#include "cleave/dialect.h"
#include "cleave/encoding.h"
#include "cleave/examine.h"
#include "cli/standard_output.h"
#include "core/reader/location.h"

namespace cleave::cli {

struct CheckReport {
    Location location;
    bool has_header = true;  // meaningful only if there is a record
    bool bom = false;
    Compression compression = Compression::kNone;
    Encoding encoding = Encoding::kBytes;
    std::uint64_t file_size = 0;  // size of the compressed file; 0 if unknown
    SniffedDialect sniffed;
    bool terminator_given = false;
    Examination examination;
    std::map<std::uint64_t, std::uint64_t> lines;  // maps a problem's byte to its line; empty for a stream
    bool sound = true;

    // How many records are not data: the preamble and the header.
    std::uint64_t header_records() const { return examination.findings.records_before_data(has_header); }
    // Whether there is a header.
    bool shows_header() const { return header_records() > examination.findings.preamble_records; }
    std::uint64_t records() const { return examination.findings.records - header_records(); }
};

// The names in the header. Empty if there is no header, or if it is longer than the part of it that is kept.
std::vector<std::string> column_names(const CheckReport& report);

// `groups`: amounts have a comma before each three digits.
void print_text(StandardOutput& out, const CheckReport& report, bool colour, bool groups);
// Prints one object on one line.
void print_json(StandardOutput& out, const CheckReport& report);

}  // namespace cleave::cli
