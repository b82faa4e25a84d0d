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

    bool operator==(const Dialect&) const = default;
};

// What is wrong with the dialect (two roles for one byte, a line break in a role), or nothing.
std::optional<std::string> dialect_fault(const Dialect& dialect);

// A dialect whose delimiter and terminator may be sniffed.
struct DialectOptions {
    Dialect dialect;
    bool sniff_delimiter = true;
    bool sniff_terminator = true;

    bool operator==(const DialectOptions&) const = default;
};

// The options of the preset of that name, or nothing. dialect_presets() lists the names.
std::optional<DialectOptions> dialect_preset(std::string_view name);
std::vector<std::string_view> dialect_presets();

// Sniffing uses this many bytes of the input.
constexpr std::size_t kSniffSize = std::size_t{64} << 10;

// Why a delimiter was chosen.
enum class DelimiterReason : std::uint8_t {
    kGiven,    // the options give it
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
    DelimiterFit fit;  // where delimiter_reason is neither kGiven nor kName
    // If the terminator was sniffed: the offset of the first one outside quotes, if the head holds one, and the CRs in
    // the head that are none.
    std::optional<std::uint64_t> terminator_offset;
    LoneReturns lone_returns;
};

// Sniffs what `wanted` leaves open. `head` is the start of the input; only its first kSniffSize bytes are used. `name`
// is the file's name without a compression suffix. If the delimiter is open, .tsv and .tab mean TAB, and .jsonl and
// .ndjson the preset "jsonl", unless `wanted` gives a quote or an escape. The result has no fault, whatever the bytes.
// Throws std::invalid_argument if what `wanted` gives has a fault.
SniffedDialect settle_dialect(const DialectOptions& wanted, std::span<const std::uint8_t> head, std::string_view name);

// The values of the fields of a record, up to its terminator if it has one: without the quotes around them, a doubled
// quote as one, an escaped byte as itself. A quote that is plain data is kept. A byte order mark would be data.
// Throws std::invalid_argument if the dialect has a fault.
std::vector<std::string> field_values(std::span<const std::uint8_t> record, const Dialect& dialect);

// The size of the UTF-8 byte order mark that `head` begins with: 3 or 0.
std::size_t bom_size(std::span<const std::uint8_t> head);

}  // namespace cleave
