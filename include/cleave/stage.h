// Changes records on their way: selects columns and redacts values by rules (doc/rules.md). Knows no files and no
// pieces.
//
//   Stage        the rules, compiled against the header of an input; immutable, shared by all threads
//   StageWorker  measures and writes blocks of records; one for each thread
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/fields.h"
#include "cleave/stage_error.h"

namespace cleave {

class KeyRing;
class MemoryManager;

// What becomes of the columns that no rule names.
enum class DefaultAction : std::uint8_t {
    kKeep,
    kNull,
    kDrop,
    kFail,  // a column that no rule names is an error
};

// A text that the user gave: a rule, a list of columns, or a line of a file with rules.
struct RuleText {
    std::string text;
    std::string origin;  // "--redact", "--select", or "PATH:LINE"

    bool operator==(const RuleText&) const = default;
};

// The lines of a file with rules that are neither blank nor comments. `name` is for RuleText::origin.
std::vector<RuleText> rules_of_file(std::string_view text, const std::string& name);

constexpr std::uint64_t kMaxRecordLimit = std::uint64_t{1} << 30;

struct StageOptions {
    std::optional<RuleText> select;  // the columns of the output, in their order; else all
    std::vector<RuleText> rules;     // the first one that matches a field wins
    std::optional<DefaultAction> default_action;
    std::string null_token;                              // written, without quotes, for a value that becomes null
    bool forbid_mail = false;                            // a mail address in a column that stays is an error
    bool forbid_card = false;                            // a card number likewise
    bool only_counts_forbidden = false;                  // they are counted, and no error
    std::uint64_t max_record = std::uint64_t{16} << 20;  // a longer record is an error; 1 .. kMaxRecordLimit
    // Columns by number need both: that the user gave the delimiter, and said whether there is a header. If a guess
    // were wrong, a number would be that of another column.
    bool is_delimiter_given = false;
    bool is_header_given = false;
    // Whether the user said what escapes a quote, or that nothing does. If not, and the dialect has no escape, a
    // backslash before a quote in a quoted field is an error: many writers mean an escape by it, and then the field
    // ends elsewhere.
    bool is_escape_given = false;

    // Whether there is anything to do.
    bool is_empty() const { return !select && rules.empty() && !default_action && !forbid_mail && !forbid_card; }
};

// How often a rule did what. `seen` is the sum of the others.
struct RuleCounts {
    std::uint64_t seen = 0;  // fields that no rule before it took
    std::uint64_t changed = 0;
    std::uint64_t kept = 0;   // the rule is `keep`
    std::uint64_t empty = 0;  // empty values, which stay
    std::uint64_t condition_false = 0;

    RuleCounts& operator+=(const RuleCounts& other);
};

struct StageCounts {
    std::vector<RuleCounts> rules;  // in the order of Stage::rules()
    std::uint64_t records = 0;      // without the header, empty ones included
    std::uint64_t empty_records = 0;
    std::uint64_t mail_addresses = 0;
    std::uint64_t card_numbers = 0;

    StageCounts& operator+=(const StageCounts& other);
};

// A rule as it was compiled.
struct StageRule {
    RuleText source;
    std::string operation;
    std::vector<std::string> columns;  // names, or "#N" without a header
};

class Stage {
public:
    // `first_record` is the header, or without one the first record that is not empty; both without a byte order mark.
    // `keys`, if not null, must outlive the stage. Throws RuleError, InputError where the record is malformed, and
    // std::invalid_argument for options or a dialect with a fault.
    Stage(const StageOptions& options, const Dialect& dialect, std::span<const std::uint8_t> first_record,
          bool has_header, const KeyRing* keys = nullptr);

    const Dialect& dialect() const;
    std::size_t column_count() const;
    std::uint64_t max_record() const;
    std::vector<StageRule> rules() const;
    // Columns of the output that neither a rule nor the default decides: they stay as they are.
    std::vector<std::string> unnamed_columns() const;
    // HMAC-SHA-256 of everything that decides what is written, in hex, under the first of key_ids(). Keys enter by
    // their ids. Empty without a key: rules may hold values, and anyone can compute a digest without a key of a guess.
    const std::string& digest() const;
    // The name and the id of each key that a rule uses, in the order of their first uses.
    std::vector<std::pair<std::string, std::string>> key_ids() const;

    struct Program;
    const Program& program() const { return *program_; }

private:
    friend Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out);

    explicit Stage(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

    std::shared_ptr<const Program> program_;
};

// For one thread at a time. What it has written lies in memory that no core dump holds and that is zeroed on release.
class StageWorker {
public:
    // `stage` must outlive the worker. A `memory` of nullptr means a new manager "system".
    StageWorker(const Stage& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory = nullptr);
    StageWorker(const Stage&& stage, const Kernel& kernel, std::shared_ptr<MemoryManager> memory = nullptr) = delete;
    StageWorker(StageWorker&&) noexcept;
    ~StageWorker();

    // The fields of the records that end in `bytes`, as FieldReader::read() under Reading::kUnambiguous. Throws
    // InputError also for a record that is too long.
    RecordBlock read(std::span<const std::uint8_t> bytes, Place place, bool at_end);
    // The same, but of records of which one is bad only those before it, as if `bytes` ended there: write() may find an
    // earlier fault in them. Throws InputError if the first record is bad. So the caller goes on behind the block, and
    // hears of the first fault first.
    RecordBlock read_sound(std::span<const std::uint8_t> bytes, Place place, bool at_end);

    // Appends the changed records of the block. Throws InputError for a value that the dialect cannot carry, and for a
    // forbidden value in a column that stays.
    void write(const RecordBlock& block);
    // The header, one whole record: only its columns are selected. Throws InputError for a forbidden value.
    void write_unchanged(const RecordBlock& header);
    void append(std::span<const std::uint8_t> bytes);

    // What was written since clear(). Valid until the next call.
    std::span<const std::uint8_t> written() const;
    // Where in written() each record begins.
    std::span<const std::uint64_t> starts() const;
    // For each record that write() has written since clear(), the fields of the columns of with_keys(), in their order;
    // an empty record has empty fields. Valid as written().
    std::size_t key_count() const;
    std::size_t size_of_keys() const;  // bytes of all these
    std::span<const std::uint8_t> key_field(std::size_t record, std::size_t key) const;
    void clear();
    // As clear(), and gives memory back.
    void release();

    // Sets sizes[r] to the bytes that write() would append for record r. Throws as write(), and does not count.
    void measure(const RecordBlock& block, std::span<std::uint64_t> sizes);

    // Of what was written since clear().
    const StageCounts& counts() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cleave
