// What stages make of records, by a plain reading of doc/rules.md. Shares no code with the library; fields are found by
// field_reference.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"

namespace cleave::test {

struct ReferenceOperation {
    enum class Kind : std::uint8_t {
        kKeep,
        kNull,
        kFixed,
        kHmac,
        kMask,
        kInitials,
        kShortName,
        kEmail,
        kDate,
        kBucket
    };

    Kind kind = Kind::kKeep;
    std::string text;                // kFixed; the context of an HMAC, or nothing; the width of kBucket
    std::size_t first = 0;           // kMask
    std::size_t last = 0;            // kMask
    char sign = '*';                 // kMask
    std::size_t size = 16;           // bytes of an HMAC, or of what stays of a date
    std::string form = "base64url";  // of an HMAC
    bool is_trimmed = false;
    bool is_lowered = false;
    bool is_hashed = false;  // kEmail: the local part becomes an HMAC
};

struct ReferenceCondition {
    enum class Kind : std::uint8_t { kEqual, kNotEqual, kIn, kEmpty, kNotEmpty };

    std::size_t column = 0;
    Kind kind = Kind::kEqual;
    std::vector<std::string> values;
};

struct ReferenceRule {
    std::vector<std::size_t> columns;
    ReferenceOperation operation;
    bool changes_empty = false;
    std::vector<ReferenceCondition> conditions;
};

struct ReferenceStage {
    Dialect dialect;
    std::size_t columns = 0;            // of the input
    std::vector<std::size_t> selected;  // of the output
    std::vector<ReferenceRule> rules;
    bool default_is_null = false;  // for columns that no rule names
    std::string null_token;
    std::string key;
    bool forbids_mail = false;
    std::uint64_t max_record = UINT64_MAX;
};

// How often a rule did what.
struct ReferenceCounts {
    std::uint64_t seen = 0;
    std::uint64_t changed = 0;
    std::uint64_t kept = 0;
    std::uint64_t empty = 0;
    std::uint64_t condition_false = 0;

    bool operator==(const ReferenceCounts&) const = default;
};

struct StageReading {
    std::vector<std::uint32_t> begins;   // of the records of the input
    std::vector<std::string> records;    // of the output: those before the first fault
    std::vector<std::string> unchanged;  // the same with columns selected and no rule
    std::vector<ReferenceCounts> counts;
    std::uint64_t empty_records = 0;
    // Where the input is at fault: a byte for malformed fields, else the beginning of the record.
    std::optional<std::uint32_t> input_fault;
    // The field, or the record, of which the output cannot be written.
    std::optional<std::uint32_t> output_fault;
    // A record whose only column becomes empty, or one with a forbidden value, in `unchanged`.
    bool unchanged_has_fault = false;
};

// The text has no byte order mark.
StageReading apply_stage(std::string_view text, const ReferenceStage& stage);

// Whether a rule can be compiled: its constant can be written in the dialect.
bool can_carry(std::string_view value, const Dialect& dialect);
// The field that stands for the value; nothing if the dialect cannot carry it. In quotes if `quoted` or if it needs
// them.
std::optional<std::string> field_of(std::string_view value, bool quoted, const Dialect& dialect);
// Whether the value needs neither quotes nor escapes.
bool is_plain(std::string_view value, const Dialect& dialect);

}  // namespace cleave::test
