// The parsed command line.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/examine.h"
#include "cleave/job.h"
#include "cleave/output.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "formats/piece_list.h"

namespace cleave::cli {

// A mistake on the command line; exit 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class Verb : std::uint8_t {
    kSplit,
    kOffsets,
    kCat,
    kCount,
    kCheck,
    kKey,
    kMachine,
    kIndex,
    kSample,
    kJoin,
    kScan,
    kPlan
};
constexpr unsigned kVerbCount = 12;

// Whether the index beside a file is looked for, and used if it is good.
enum class IndexUse : std::uint8_t { kNever, kAuto, kRequire };

// Records from 1, the header not counted; both ends belong to it.
struct RecordRange {
    std::uint64_t first = 1;
    std::uint64_t last = UINT64_MAX;
};

// Bytes from 0; the first one belongs to it, the last one does not.
struct ByteRange {
    std::uint64_t begin = 0;
    std::optional<std::uint64_t> end;  // nothing: the end of the input
};

enum class When : std::uint8_t { kNever, kAuto, kAlways };

enum class Format : std::uint8_t { kTsv, kCsv, kJsonl, kJson, kU64, kHttp, kStarts };

// Shells that there are completions for.
enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// The values of the options. A field for which the verb has no option keeps its default.
struct Arguments {
    Verb verb = Verb::kCount;
    bool help = false;
    bool snapshot = false;
    std::vector<std::string> inputs;          // "-" is standard input
    std::string key_file;                     // of the verb key: the file that it makes
    Policy policy;                            // its header mode: of the current input
    HeaderMode header = HeaderMode::kRepeat;  // as given
    std::uint64_t cat_piece = 0;              // K of cat's K/N; 0 without -n
    JobRules stage;                           // its keys are set when they are loaded
    std::vector<std::string> key_sources;
    bool shows_columns = false;   // check --columns
    bool shows_template = false;  // check --rules-template
    DialectOptions dialect;
    Execution execution;
    bool calibrates = false;            // of the verb machine
    std::string memory_manager;         // its name; with rules
    std::string memory_manager_origin;  // "--memory-manager" or the name of the variable
    std::string device;                 // with rules, empty for the CPU; of machine, empty for one that is there
    std::uint64_t device_memory = 0;    // 0: all
    bool explain = false;
    Format format = Format::kTsv;
    OutputOptions output;  // manifest: "/dev/stdout" for "-"; names: with the suffix of compressed pieces
    std::uint64_t max_listed = kListedRagged;  // ragged records of a report
    bool print = false;                        // names of pieces
    bool null = false;                         // lines end with NUL, see line_end()
    std::optional<CloneMode> clone;            // as given; policy.alignment and output.clone agree with it
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    When progress = When::kAuto;
    bool lenient = false;
    bool strict = false;
    bool strict_size = false;
    // Of index, cat -r, sample and join.
    std::optional<RecordRange> range;  // of cat
    IndexUse index = IndexUse::kNever;
    bool verifies = false;              // of the verb index
    std::uint64_t sample_size = 0;      // of the verb sample
    std::optional<std::uint64_t> seed;  // of the verb sample
    PieceList pieces;                   // of the verb join
    // Of scan, and of offsets and cat with --plan.
    ByteRange bytes;                          // of scan
    std::optional<std::uint64_t> input_size;  // of scan
    std::string input_version;                // empty: that of the file
    std::string plan;                         // path of the plan; empty without one
};

// What ends a line of text on standard output.
inline char line_end(const Arguments& arguments) { return arguments.null ? '\0' : '\n'; }

// The value of --completion. Throws UsageError.
Shell parse_shell(const std::string& name);

// Parses what follows the verb. Throws UsageError.
Arguments parse_arguments(Verb verb, const std::vector<std::string>& words);

}  // namespace cleave::cli
