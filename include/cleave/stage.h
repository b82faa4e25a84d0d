// Changes records on their way from input to output: selects columns and redacts values according to rules
// (doc/guide/rules.md). Knows nothing about files or pieces.
//
//   Stage        the rules, compiled against the header of an input; immutable, shared by all threads
//   StageWorker  measures and writes blocks of records; one per thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "cleave/stage_error.h"

namespace cleave {

class Cancellation;
class KeyRing;
class MemoryManager;
class CommonClasses;
class CompiledPattern;

// What happens to columns that no rule names.
enum class DefaultAction : std::uint8_t {
    kKeep,
    kNull,
    kDrop,
    kFail,  // fail if there is such a column
};

// What must not appear in a column that stays. src/features/redact/stage/forbidden/forbidden.h says exactly what is
// found.
enum class ForbiddenKind : std::uint8_t { kEmail, kCard, kIban, kPhone, kIp, kDate, kSecret };
inline constexpr std::size_t kForbiddenKinds = 7;

// A regular expression of RE2 that must not match in a column that stays. It is searched for in the whole value,
// without quotes and escapes. A value that cannot be searched counts as one that matches. Copies share what was
// compiled.
class ForbiddenPattern {
public:
    // `name`, of [a-z0-9-], stands for the pattern in messages. Loads the module cleave_re2.so, which is looked for in
    // ../lib/cleave beside the program or the library and then where modules are installed; it stays loaded until the
    // process ends. Throws ArgumentError if the name has other characters or is that of a kind, if RE2 rejects the
    // pattern or it matches the empty text, and if the module is missing or cannot be used.
    ForbiddenPattern(std::string name, std::string text);

    const std::string& name() const { return name_; }
    const std::string& text() const { return text_; }
    const std::shared_ptr<const CompiledPattern>& compiled() const { return compiled_; }

private:
    std::string name_;
    std::string text_;
    std::shared_ptr<const CompiledPattern> compiled_;
};

// A file that rules name: its path as in the rule, and its content.
struct RuleFile {
    std::string path = {};
    std::string text = {};
};

// Reads the files that the rules name, each once; relative paths are relative to the working directory. Rules that
// cannot be parsed name none. Throws SystemError with the path, and ArgumentError for a file of more than 64 MiB.
std::vector<RuleFile> files_of_rules(std::span<const RuleText> rules);

// The lines of a rules file that are neither blank nor comments. `name` is for RuleText::origin.
std::vector<RuleText> rules_of_file(std::string_view text, const std::string& name);

struct StageOptions {
    std::optional<RuleText> select = {};  // the columns of the output, in this order; not set: all
    std::vector<RuleText> rules = {};     // the first one that matches a field wins
    std::optional<DefaultAction> default_action = {};
    std::vector<RuleFile> files = {};                    // those that the rules name; see files_of_rules()
    std::string null_token = {};                         // written, without quotes, for a value that becomes null
    std::vector<ForbiddenKind> forbid = {};              // fail at one of these in a column that stays
    std::vector<ForbiddenPattern> forbid_patterns = {};  // the same; each name once
    bool only_counts_forbidden = false;                  // only count them, and do not fail
    std::uint64_t max_record = std::uint64_t{16} << 20;  // fail at a longer record; 1 .. kMaxRecordLimit
    // Naming columns by number requires both that the user gave the delimiter and that the user said whether there is a
    // header. If a guess were wrong, a number would mean a different column.
    bool is_delimiter_given = false;
    bool is_header_given = false;
    // Whether the user said what escapes a quote, or that nothing does. If not, and the dialect has no escape, a
    // backslash before a quote in a quoted field is refused: many writers mean it as an escape, in which case the field
    // ends elsewhere.
    bool is_escape_given = false;

    // Whether there is anything to do.
    bool is_empty() const {
        return !select && rules.empty() && !default_action && forbid.empty() && forbid_patterns.empty();
    }
};

// What a rule did, and how often. `seen` is the sum of the next four members.
struct RuleCounts {
    std::uint64_t seen = 0;  // fields that no earlier rule took
    std::uint64_t changed = 0;
    std::uint64_t kept = 0;   // the rule is `keep`
    std::uint64_t empty = 0;  // empty values, which stay
    std::uint64_t condition_false = 0;
    // With `form`: of all values, the one with the fewest possible tokens has this many, at most 2^64 - 1. 0 if there
    // was no value.
    std::uint64_t fewest_tokens = 0;

    RuleCounts& operator+=(const RuleCounts& other);
    // Takes the number of possible tokens of another value; 0 stands for no value.
    void take_tokens(std::uint64_t tokens);
};

struct StageCounts {
    std::vector<RuleCounts> rules;  // in the order of Stage::rules()
    std::uint64_t records = 0;      // not counting the header, but including empty ones
    std::uint64_t empty_records = 0;
    std::vector<std::uint64_t> forbidden;  // values with each of Stage::forbidden()
    std::vector<std::uint64_t> met;        // values at each of Stage::paths()

    StageCounts& operator+=(const StageCounts& other);
};

// A compiled rule.
struct StageRule {
    RuleText source;
    std::string operation;
    std::vector<std::string> columns;  // names, or "#N" without a header
};

// Something that values are searched for: a kind, or a pattern.
struct StageForbidden {
    std::string name;                 // as in --forbid and in reports
    std::string phrase;               // for messages, such as "an email address"
    std::optional<std::string> text;  // of a pattern
};

class Stage {
public:
    // `first_record` is the header or, without one, the first record that is not empty; both without a byte order mark.
    // `keys` and `cancellation`, if not null, must outlive the stage; while patterns are searched for, here and in
    // workers, requesting `cancellation` ends the call with Cancelled. Throws RuleError, InputError if the record is
    // malformed, and ArgumentError for invalid options or an invalid dialect.
    Stage(const StageOptions& options, const Dialect& dialect, std::span<const std::uint8_t> first_record,
          bool has_header, const KeyRing* keys = nullptr, const Cancellation* cancellation = nullptr);

    const Dialect& dialect() const;
    std::size_t column_count() const;
    std::uint64_t max_record() const;
    std::vector<StageRule> rules() const;
    // What StageOptions::forbid and forbid_patterns name, in this order.
    const std::vector<StageForbidden>& forbidden() const;
    // In JSON Lines: the paths that the rules and StageOptions::select name, each once. Otherwise none.
    std::vector<std::string> paths() const;
    // Columns of the output that neither a rule nor the default covers: they stay as they are.
    std::vector<std::string> unnamed_columns() const;
    // HMAC-SHA-256, in hex, under the first key of key_ids(), of everything that determines what is written. Each key
    // is represented by its id. Empty if there is no key: rules may contain values, and without a key anyone can
    // compute the digest of a guess.
    const std::string& digest() const;
    // The name and the id of each key that a rule uses, in order of first use.
    std::vector<std::pair<std::string, std::string>> key_ids() const;

    struct Program;
    const Program& program() const { return *program_; }

private:
    friend Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out,
                           std::span<const std::size_t> as_read);
    friend Stage with_common(const Stage& stage, std::shared_ptr<const CommonClasses> common);

    explicit Stage(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    std::shared_ptr<const Program> program_;
};

// What changes records on their way into the pieces of a job. With a stage, Policy::max_bytes limits what is written.
// The starts and lengths of pieces, in names, in the manifest and for the observer, also refer to what is written:
// Piece::start counts from the start of the header as it is written. Policy::pieces still divides the bytes of the
// input, so each record is in the same piece as without a stage. Policy::together names a column of the input, and
// compares what is written of it; naming a column that the stage drops throws RuleError. A stage cannot be combined
// with Policy::alignment, nor with a stream that is needed as a whole, unless `may_spool` is set. With Policy::by, a
// stream needs `may_spool` only for buckets and parts that drop the columns: otherwise everything that goes to a
// temporary file is also written or becomes a name.
struct JobRules {
    StageOptions options = {};  // no stage if these are empty, or change nothing in any input
    const KeyRing* keys = nullptr;
    bool may_spool = false;  // a stream may be copied, unchanged, to a temporary file
};
using StageJob [[deprecated("JobRules")]] = JobRules;  // until 0.3

// A stage would need a copy of a stream, including its values, in a temporary file.
class SpoolError : public ArgumentError {
public:
    SpoolError()
        : ArgumentError("the input is a stream, and its unredacted data would be written to a temporary file") {}
};

// For use by one thread at a time. Its output is in memory that is left out of core dumps and zeroed on release.
class StageWorker {
public:
    // `stage` must outlive the worker. If `memory` is null, a new "system" manager is used. Throws ArgumentError for a
    // stage with `suppress`, which only run_job() and the command support, because it needs two passes.
    StageWorker(const Stage& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory = nullptr);
    StageWorker(const Stage&& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory = nullptr) = delete;
    StageWorker(StageWorker&&) noexcept;
    ~StageWorker();

    // Says that blocks will only be passed to the members below. read() then finds only the ends that these need; see
    // RecordBlock::is_picked.
    void pick_ends();

    // The fields of the records that end in `bytes`, as from FieldReader::read() under Reading::kUnambiguous. Also
    // throws InputError for a record that is too long.
    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end);
    RecordBlock read(TemporaryBytes auto&& bytes, Place place, bool at_end) = delete;
    // The same, but stops before the first malformed record, as if `bytes` ended there, because write() may find an
    // earlier fault in the records before it. Throws InputError if the first record is malformed. A caller that
    // continues after the block therefore sees the first fault first.
    RecordBlock read_sound(std::span<const std::uint8_t> bytes, Place place, bool at_end);
    RecordBlock read_sound(TemporaryBytes auto&& bytes, Place place, bool at_end) = delete;

    // Appends the changed records of the block. Throws InputError for a value that the dialect cannot represent, and
    // for a forbidden value in a column that stays.
    void write(const RecordBlock& block);
    // Appends the header, one whole record, with its columns selected but its values unchanged. Throws InputError for a
    // forbidden value.
    void write_unchanged(const RecordBlock& header);
    void append(std::span<const std::uint8_t> bytes);

    // What was written since clear(). Valid until the next call.
    std::span<const std::uint8_t> written() const;
    // Where in written() each record begins.
    std::span<const std::uint64_t> starts() const;
    void clear();
    // Like clear(), and frees memory.
    void release();

    // Sets sizes[r] to the bytes that write() would append for record r. Throws what write() throws. Counts nothing.
    void measure(const RecordBlock& block, std::span<std::uint64_t> sizes);

    // What was counted since clear().
    const StageCounts& counts() const;

private:
    friend struct KeptFields;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cleave
