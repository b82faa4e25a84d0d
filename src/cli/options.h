// The parsed command line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/encoding.h"
#include "cleave/examine.h"
#include "cleave/job.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "cleave/rejects.h"
#include "cleave/scan.h"
#include "core/reader/location.h"
#include "engine/piece_list.h"

namespace cleave::cli {

// A mistake on the command line; exit status 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// In the order of the help: verbs for people first, then verbs for other programs and machines.
enum class Verb : std::uint8_t {
    kSplit,
    kCount,
    kCheck,
    kCat,
    kOffsets,
    kIndex,
    kSample,
    kJoin,
    kVerify,
    kScan,
    kPlan,
    kKey,
    kInfo
};
constexpr unsigned kVerbCount = 13;

// Whether the verb reads several inputs as one.
constexpr bool joins_inputs(Verb verb) { return verb == Verb::kSplit || verb == Verb::kCat || verb == Verb::kSample; }

// Whether to look for the index next to a file, and to use it if it is valid.
enum class IndexUse : std::uint8_t { kNever, kAuto, kRequire };

// Records counted from 1, without the header; both ends are included.
struct RecordRange {
    std::uint64_t first = 1;
    std::uint64_t last = UINT64_MAX;
};

// Bytes counted from 0; `begin` is included, `end` is not.
struct ByteRange {
    std::uint64_t begin = 0;
    std::optional<std::uint64_t> end;  // std::nullopt: the end of the input
};

// Which help the user asked for: -h or --help.
enum class HelpLevel : std::uint8_t { kNone, kShort, kLong };

enum class When : std::uint8_t { kNever, kAuto, kAlways };

enum class Format : std::uint8_t { kTsv, kCsv, kJsonl, kJson, kU64, kHttp, kStarts };

enum class KeyCommand : std::uint8_t { kNew, kRotate, kList, kCheck };

// The shells that have completions.
enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// The values of the options. A field whose option the verb does not have keeps its default.
struct Arguments {
    Verb verb = Verb::kCount;
    HelpLevel help = HelpLevel::kNone;
    bool snapshot = false;
    Encoding encoding = Encoding::kBytes;
    LocationList inputs;
    std::string inputs_from;       // the file that lists them; empty if there is none
    bool columns_by_name = false;  // of several inputs
    bool drops_unknown = false;    // likewise
    KeyCommand key_command = KeyCommand::kNew;
    std::string key_file;                     // for key
    Policy policy;                            // its header mode is for the current input
    HeaderMode header = HeaderMode::kRepeat;  // as given
    bool is_header_given = false;             // by --header or --no-header
    std::uint64_t cat_piece = 0;              // the K in cat's -n K/N; 0 without -n
    JobRules stage;                           // its keys are set once they are loaded
    std::vector<std::string> key_sources;
    std::string sign;                  // the key that signs the report; empty if it is not signed
    bool is_keyless = false;           // verify --no-key
    Location reported_input;           // verify --input; empty if it is not compared
    bool shows_columns = false;        // check --columns
    bool shows_template = false;       // check --rules-template
    std::optional<ByValue> quasi;      // for check
    std::optional<ByValue> sensitive;  // for check; one column
    DialectOptions dialect;
    Execution execution;
    bool calibrates = false;            // for info
    std::string memory_manager;         // name; only with rules
    std::string memory_manager_origin;  // "--memory-manager" or the name of the variable
    std::string device;                 // under rules, empty for the CPU; for info, empty for any device that exists
    std::uint64_t device_memory = 0;    // 0: all
    bool explain = false;
    Format format = Format::kTsv;
    OutputOptions output;  // manifest: "/dev/stdout" for "-"; names: with the suffix for compressed pieces
    std::uint64_t max_listed = kListedRagged;  // ragged records that a report lists
    bool print = false;                        // print the names of pieces
    bool null = false;                         // end lines with NUL, see line_end()
    std::optional<CloneMode> clone;            // as given; policy.alignment and output.clone agree with it
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    When progress = When::kAuto;
    bool allows_open_quote = false;
    bool allows_ragged = false;
    bool requires_one_reading = false;
    bool strict_size = false;
    std::optional<RejectOptions> rejects;  // for split, cat and sample
    Location rejected;                     // for cat; empty if there is none
    // For index, cat -r, sample and join.
    std::optional<RecordRange> range;   // for cat
    std::optional<std::uint64_t> last;  // for cat: the last records; the range begins where heed_range() says
    IndexUse index = IndexUse::kNever;
    bool verifies = false;              // for index
    std::uint64_t sample_size = 0;      // for sample
    std::optional<std::uint64_t> seed;  // for sample
    PieceList pieces;                   // for join
    // For scan, and for offsets and cat with --plan.
    ByteRange bytes;                          // for scan
    std::optional<std::uint64_t> input_size;  // for scan
    std::string input_version;                // empty: use the file's own
    Location plan;                            // empty if there is none
};

// The byte that ends a line of text on standard output.
inline char line_end(const Arguments& arguments) { return arguments.null ? '\0' : '\n'; }

// The value of --completion. Throws UsageError.
Shell parse_shell(const std::string& name);

// Parses what follows the verb. Throws UsageError.
Arguments parse_arguments(Verb verb, const std::vector<std::string>& words);

}  // namespace cleave::cli
