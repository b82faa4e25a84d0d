// The command line: one table of options for all verbs, and what they come to.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "cleave/split.h"

namespace cleave::cli {

// A mistake on the command line; exit 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class Verb : std::uint8_t { kSplit, kOffsets, kCat, kCount, kCheck };
constexpr unsigned kVerbCount = 5;

enum class When : std::uint8_t { kNever, kAuto, kAlways };

enum class Format : std::uint8_t { kTsv, kCsv, kJsonl, kJson, kU64, kHttp, kStarts };

// Shells that there are completions for.
enum class Shell : std::uint8_t { kBash, kZsh, kFish };

// One row of the option table. The help, the parser and the completions all read it.
struct OptionRow {
    const char* name;   // long name
    char letter;        // short name, or 0
    const char* value;  // what its value is called, or nullptr for a switch
    const char* help;   // {choices} stands for them, with commas
    unsigned verbs;     // their bits, or kGeneral
    const char* group;  // heading in the help

    // What the value can be: names with a blank between two, kPath, or nothing that can be listed.
    std::string choices = {};
};
constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr unsigned kAllVerbs = (1U << kVerbCount) - 1;
constexpr unsigned kGeneral = 1U << kVerbCount;  // an option that stands instead of a verb
constexpr const char* kPath = "/";
const std::vector<OptionRow>& option_table();

const char* verb_name(Verb verb);
std::optional<Verb> verb_by_name(const std::string& name);

// A parsed command line. Fields that the verb has no option for keep their defaults.
struct Arguments {
    Verb verb = Verb::kCount;
    bool help = false;
    std::vector<std::string> inputs;  // "-" is standard input
    Policy policy;
    std::uint64_t cat_piece = 0;  // K of cat's K/N
    DialectWish dialect;
    Machine machine;
    Format format = Format::kTsv;
    std::string output = "{stem}.{i}{ext}";
    std::uint64_t first_index = 1;
    bool make_directories = false;
    bool force = false;
    bool resume = false;
    bool sync = false;
    std::string manifest;            // empty: none
    std::optional<char> print_end;   // --print: '\n', with -0 '\0'
    std::optional<CloneMode> clone;  // policy.alignment goes with it
    CompressionWish compression;     // of pieces; `output` has its suffix
    std::string filter;              // empty: none
    bool dry_run = false;
    bool json = false;
    bool quiet = false;
    bool verbose = false;
    When progress = When::kAuto;
    bool lenient = false;
    bool strict = false;
    bool strict_size = false;
};

// The value of --completion. Throws UsageError.
Shell parse_shell(const std::string& name);

// Parses what follows the verb. Throws UsageError.
Arguments parse_arguments(Verb verb, const std::vector<std::string>& words);

}  // namespace cleave::cli
