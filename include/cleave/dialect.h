// Presets of dialects, faults in them, and sniffing; dialect_rules.h says what a dialect is. Knows nothing about files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/dialect_rules.h"

namespace cleave {

// Whether the dialect is the one of JSON Lines: the preset "jsonl", with any terminator and preamble. Its records are
// JSON texts and have no columns.
bool is_json_lines(const Dialect& dialect);

// What is wrong with the dialect (two roles for one byte, a line break in a role); no value if nothing is.
std::optional<std::string> dialect_fault(const Dialect& dialect);

// How to treat a first line such as "sep=;", which tells spreadsheets what the delimiter is. It may be quoted.
enum class SeparatorLine : std::uint8_t {
    kData,       // a line like any other
    kPreamble,   // part of the preamble; it sets the delimiter if that is sniffed, and is data if a different one is
                 // given
    kDelimiter,  // part of the preamble; it sets the delimiter, even if the dialect has one
};

// Which lines at the start of an input are its preamble. Lines end as records do, and quotes have no meaning in them.
struct PreambleOptions {
    SeparatorLine separator_line = SeparatorLine::kPreamble;
    std::uint64_t lines = 0;  // this many, including a separator line; all lines if the input has fewer
    // Also the lines after them that begin with this text, up to the last one before a line that does not. Under
    // HeaderRecord::kFirstNotEmpty, empty lines between them belong to the preamble. Empty: no such lines.
    std::string comment = {};

    bool operator==(const PreambleOptions&) const = default;
};

// A dialect whose delimiter and terminator may be sniffed. `preamble` is not used if the dialect has one already.
struct DialectOptions {
    Dialect dialect = {};
    bool sniff_delimiter = true;
    bool sniff_terminator = true;
    PreambleOptions preamble = {};

    bool operator==(const DialectOptions&) const = default;
};

// Options that leave nothing to sniff: a first line "sep=;" is data unless it is in the dialect's preamble.
DialectOptions settled_options(const Dialect& dialect);

// The options of the preset with that name; no value if there is none. dialect_presets() lists the names.
std::optional<DialectOptions> dialect_preset(std::string_view name);
std::vector<std::string_view> dialect_presets();

// Sniffing uses at most this many bytes of the input, after its preamble.
constexpr std::size_t kSniffSize = std::size_t{64} << 10;
// The most bytes in a preamble.
constexpr std::size_t kMaxPreambleSize = std::size_t{16} << 20;

// Why a delimiter was chosen.
enum class DelimiterReason : std::uint8_t {
    kGiven,    // given in the options
    kLine,     // a separator line sets it
    kName,     // the file's suffix implies it
    kFit,      // it fits the head best, and DelimiterFit::fields is above 1
    kQuotes,   // no delimiter splits most of the records, and this one leaves the fewest quotes out of place
    kDefault,  // neither the options nor the data decide
};

// How well a delimiter fits the head of an input.
struct DelimiterFit {
    std::size_t records = 0;           // whole records in the head
    std::size_t empty = 0;             // how many of them contain nothing but line breaks
    std::size_t header_fields = 0;     // fields of the first record that is not empty
    std::size_t fields = 0;            // the most frequent number of fields, not counting empty records
    std::size_t agreeing = 0;          // how many records have that number
    std::size_t quotes = 0;            // quoted sections that open at field starts
    std::size_t misplaced_quotes = 0;  // quotes inside unquoted fields, or closing quotes with text right after them
    bool ends_in_quotes = false;       // the head ends inside quotes
};

// CRs outside quotes that are not followed by LF, where LF ends records. A reader that ends records at such CRs sees
// different records.
struct LoneReturns {
    std::size_t count = 0;
    std::optional<std::uint64_t> first;  // an offset
};

// A reading of the head that seems better than the dialect's. Sniffing reports it but never adopts it.
enum class DialectDoubt : std::uint8_t {
    kNone,
    kNulTerminator,    // records seem to end with NUL, not with a line break
    kRecordSeparator,  // records seem to end with 0x1E
    kUnitSeparator,    // records seem to end with 0x1F
    // The input seems to be:
    kJsonLines,  // JSON Lines
    kJsonArray,  // one JSON array
    kJsonText,   // JSON objects that span several lines
    // Quotes are not plain data, and:
    kEscapedQuotes,      // backslashes seem to escape quotes
    kPlainQuotes,        // quotes seem to be plain data
    kQuotesUnexplained,  // no delimiter explains the quotes: even under the one that was sniffed some are misplaced,
                         // and fewer than half of the records agree on a number of fields above 1
};

struct SniffedDialect {
    Dialect dialect;
    DialectDoubt doubt = DialectDoubt::kNone;
    DelimiterReason delimiter_reason = DelimiterReason::kGiven;
    DelimiterFit fit;  // set unless delimiter_reason is kGiven, kLine or kName
    // If the terminator was sniffed: the offset of the first terminator outside quotes, if the head contains one (with
    // a preamble, the one that ends its first line), and the CRs in the head after the preamble that are not
    // terminators.
    std::optional<std::uint64_t> terminator_offset;
    LoneReturns lone_returns;
    // How many lines at the start look like a preamble that the options do not name: the first records, if they have at
    // most half as many fields as most records. 0 unless delimiter_reason is kFit.
    std::uint64_t lines_like_preamble = 0;
};

// Sniffs what `wanted` leaves open, and finds the preamble. `head` is the start of the input, and all of it if it is
// shorter than kSniffSize. At most kSniffSize bytes after the preamble are used. `name` is the file's name without a
// compression suffix. If the delimiter is open, .tsv and .tab mean TAB, and .jsonl and .ndjson mean the preset "jsonl",
// unless `wanted` sets some other part of the dialect. The resulting dialect is valid, whatever the bytes. Throws
// ArgumentError if what `wanted` gives is invalid, and InputError if the preamble does not end in `head`.
SniffedDialect settle_dialect(const DialectOptions& wanted, std::span<const std::uint8_t> head, std::string_view name);

// The values of the fields of a record, up to its terminator if it has one: without the quotes around them, with
// doubled quotes as one, and escaped bytes as themselves. A quote that is plain data is kept. A byte order mark counts
// as data. Throws ArgumentError for an invalid dialect.
std::vector<std::string> field_values(std::span<const std::uint8_t> record, const Dialect& dialect);

// The size of the UTF-8 byte order mark that `head` begins with: 3 or 0.
std::size_t bom_size(std::span<const std::uint8_t> head);

// The lead of an input with this head. Only the first three bytes are examined.
Lead lead_of(std::span<const std::uint8_t> head, const Dialect& dialect);

}  // namespace cleave
