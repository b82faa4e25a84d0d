// What stages turn records into, according to a plain reading of doc/guide/rules.md. Shares no code with the library;
// field_reference.h finds the fields.
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
    std::string text;                // kFixed; the context of an HMAC, or empty; the width of kBucket
    std::size_t first = 0;           // kMask
    std::size_t last = 0;            // kMask
    char sign = '*';                 // kMask
    std::size_t size = 16;           // in bytes: of an HMAC, or of what is kept of a date
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

// How often a rule had each effect.
struct ReferenceCounts {
    std::uint64_t seen = 0;
    std::uint64_t changed = 0;
    std::uint64_t kept = 0;
    std::uint64_t empty = 0;
    std::uint64_t condition_false = 0;

    bool operator==(const ReferenceCounts&) const = default;
};

struct StageReading {
    std::vector<std::uint32_t> begins;   // of the input's records
    std::vector<std::string> records;    // of the output, up to the first fault
    std::vector<std::string> unchanged;  // the same, with columns selected and no rule
    std::vector<ReferenceCounts> counts;
    std::uint64_t empty_records = 0;
    // Where the fault in the input is: the byte of a malformed field; for any other fault, the beginning of the record.
    std::optional<std::uint32_t> input_fault;
    // The field or record that cannot be written.
    std::optional<std::uint32_t> output_fault;
    // Whether `unchanged` has a record whose only column becomes empty, or one with a forbidden value.
    bool unchanged_has_fault = false;
};

// The text has no byte order mark.
StageReading apply_stage(std::string_view text, const ReferenceStage& stage);

// Whether a rule with this constant can be compiled, that is, whether the dialect can write it.
bool can_carry(std::string_view value, const Dialect& dialect);
// The field that represents the value, in quotes if `quoted` or if it needs them; nothing if the dialect cannot carry
// the value.
std::optional<std::string> field_of(std::string_view value, bool quoted, const Dialect& dialect);
// Whether the value needs neither quotes nor escapes.
bool is_plain(std::string_view value, const Dialect& dialect);

}  // namespace cleave::test
