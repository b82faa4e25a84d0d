// What the bytes of a CSV file mean: its dialect, the reader presets, and sniffing. Knows no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// Where a quote opens a quoted section.
enum class Quoting : std::uint8_t {
    kFieldStart,  // only as the first byte of a field; elsewhere it is plain data
    kAnywhere,    // anywhere: every quote opens or closes a section
};

// What ends a record, outside quotes.
enum class Terminator : std::uint8_t {
    kLf,   // LF; the CR of a CRLF stays in its record
    kCr,   // CR
    kAny,  // LF, CRLF or a lone CR; never a cut between CR and LF
};

// Where an escape makes the next byte plain data.
enum class EscapeScope : std::uint8_t {
    kEverywhere,  // in any state; but under kFieldStart not right after a closing quote (as Python's csv)
    kQuoted,      // only inside quotes
};

// Which record is the header, where there is one.
enum class HeaderRecord : std::uint8_t {
    kFirstNotEmpty,  // the first one that holds a byte other than CR and LF, a byte order mark aside; the empty records
                     // before it belong to the header; if all records are empty, the first one
    kFirst,          // the first one, whatever it holds
    kNone,           // none: all records are data, whatever a HeaderMode says
};

// One byte each; a doubled quote inside quotes always stands for itself.
struct Dialect {
    std::uint8_t delimiter = ',';
    std::optional<std::uint8_t> quote = '"';
    std::optional<std::uint8_t> escape;
    EscapeScope escape_scope = EscapeScope::kEverywhere;
    Quoting quoting = Quoting::kFieldStart;
    Terminator terminator = Terminator::kLf;
    HeaderRecord header = HeaderRecord::kFirstNotEmpty;
    // The size in bytes of the preamble: the lines of an input before its header, or before its records if it has no
    // header. A byte order mark is part of it. It is not data. It counts as one record, which belongs to the header.
    std::uint64_t preamble = 0;

    bool operator==(const Dialect&) const = default;
};

// What is wrong with the dialect (two roles for one byte, a line break in a role), or nothing.
std::optional<std::string> dialect_fault(const Dialect& dialect);

// What a first line such as "sep=;" is, which tells spreadsheets the delimiter. It may be in quotes.
enum class SeparatorLine : std::uint8_t {
    kData,       // a line like any other
    kPreamble,   // part of the preamble; it names the delimiter if that is sniffed, and is data if another one is given
    kDelimiter,  // part of the preamble; it names the delimiter, even if the dialect has one
};

// Which lines at the start of an input are its preamble. Lines end as records do, and quotes mean nothing in them.
struct PreambleOptions {
    SeparatorLine separator_line = SeparatorLine::kPreamble;
    std::uint64_t lines = 0;  // this many, a separator line included; all lines of an input with fewer
    // And those after them that begin with this text, up to the last one before a line that does not. Empty lines
    // between them belong to the preamble under HeaderRecord::kFirstNotEmpty. An empty text stands for no line.
    std::string comment;

    bool operator==(const PreambleOptions&) const = default;
};

// A dialect whose delimiter and terminator may be sniffed. If the dialect has a preamble, `preamble` is not used.
struct DialectOptions {
    Dialect dialect;
    bool sniff_delimiter = true;
    bool sniff_terminator = true;
    PreambleOptions preamble = {};

    bool operator==(const DialectOptions&) const = default;
};

// Options that leave nothing to be found: a first line "sep=;" is data unless it is in the dialect's preamble.
DialectOptions settled_options(const Dialect& dialect);

// The options of the preset of that name, or nothing. dialect_presets() lists the names.
std::optional<DialectOptions> dialect_preset(std::string_view name);
std::vector<std::string_view> dialect_presets();

// Sniffing uses this many bytes of the input, after its preamble.
constexpr std::size_t kSniffSize = std::size_t{64} << 10;
// A preamble is not longer than this.
constexpr std::size_t kMaxPreambleSize = std::size_t{16} << 20;

// Why a delimiter was chosen.
enum class DelimiterReason : std::uint8_t {
    kGiven,    // the options give it
    kLine,     // a separator line names it
    kName,     // the ending of the file's name stands for it
    kFit,      // it fits the head best, and DelimiterFit::fields is above 1
    kQuotes,   // no delimiter splits most of the records, and this one leaves the fewest quotes out of place
    kDefault,  // neither the options nor the data decide
};

// How a delimiter fits the head of an input.
struct DelimiterFit {
    std::size_t records = 0;           // whole records in the head
    std::size_t empty = 0;             // how many of them hold nothing but line breaks
    std::size_t header_fields = 0;     // fields of the first record that is not empty
    std::size_t fields = 0;            // the most frequent number of fields, empty records left out
    std::size_t agreeing = 0;          // how many records have that number
    std::size_t quotes = 0;            // sections that open at field starts
    std::size_t misplaced_quotes = 0;  // inside unquoted fields, or closing ones with text right after
    bool ends_in_quotes = false;       // the head ends inside quotes
};

// CRs outside quotes that no LF follows, where LF ends records. Readers that end a record at such a CR have other
// records.
struct LoneReturns {
    std::size_t count = 0;
    std::optional<std::uint64_t> first;  // an offset
};

// A reading of the head that seems to be better than that of the dialect. Sniffing never takes it by itself.
enum class DialectDoubt : std::uint8_t {
    kNone,
    kNulTerminator,      // records seem to end with NUL, not with a line break
    kRecordSeparator,    // the same with 0x1E
    kUnitSeparator,      // the same with 0x1F
    kJsonLines,          // each line seems to be a JSON object, and quotes are not plain data
    kEscapedQuotes,      // backslashes seem to escape quotes
    kPlainQuotes,        // quotes between tabs seem to be plain data
    kQuotesUnexplained,  // no delimiter explains the quotes: even under the one that was sniffed some are misplaced,
                         // and fewer than half of the records agree in a number of fields above 1
};

struct SniffedDialect {
    Dialect dialect;
    DialectDoubt doubt = DialectDoubt::kNone;
    DelimiterReason delimiter_reason = DelimiterReason::kGiven;
    DelimiterFit fit;  // where delimiter_reason is none of kGiven, kLine and kName
    // If the terminator was sniffed: the offset of the first one outside quotes, if the head holds one, which ends the
    // first line of a preamble; and the CRs in the head, behind the preamble, that are none.
    std::optional<std::uint64_t> terminator_offset;
    LoneReturns lone_returns;
    // How many lines at the start look like a preamble that nobody has named: the first records, if they have at most
    // half of the fields that most records have. 0 unless the delimiter was sniffed.
    std::uint64_t lines_like_preamble = 0;
};

// Sniffs what `wanted` leaves open, and finds the preamble. `head` is the start of the input, and all of it if it is
// shorter than kSniffSize. What is behind the preamble is sniffed, at most kSniffSize bytes of it. `name` is the file's
// name without a compression suffix. If the delimiter is open, .tsv and .tab mean TAB, and .jsonl and .ndjson the
// preset "jsonl", unless `wanted` gives a quote or an escape. The result has no fault, whatever the bytes. Throws
// std::invalid_argument if what `wanted` gives has a fault, and InputError if the preamble does not end in `head`.
SniffedDialect settle_dialect(const DialectOptions& wanted, std::span<const std::uint8_t> head, std::string_view name);

// The values of the fields of a record, up to its terminator if it has one: without the quotes around them, a doubled
// quote as one, an escaped byte as itself. A quote that is plain data is kept. A byte order mark would be data.
// Throws std::invalid_argument if the dialect has a fault.
std::vector<std::string> field_values(std::span<const std::uint8_t> record, const Dialect& dialect);

// The size of the UTF-8 byte order mark that `head` begins with: 3 or 0.
std::size_t bom_size(std::span<const std::uint8_t> head);

// The first bytes of an input, which are not data.
struct Lead {
    std::uint64_t size = 0;
    bool is_preamble = false;  // the first record, all of it; else a byte order mark, which begins the first record

    std::uint64_t records() const { return is_preamble ? 1 : 0; }
};

// The lead of an input with this head, whose first three bytes are looked at.
Lead lead_of(std::span<const std::uint8_t> head, const Dialect& dialect);

}  // namespace cleave
