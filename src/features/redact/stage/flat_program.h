// The rules of a stage as plain bytes: tables that refer to each other by index, in one contiguous block that can be
// copied to a device as it is. The code in stage/record.h executes them. Compiles for a GPU too.
#pragma once

#include <cstdint>

#include "base/device.h"

namespace cleave {

// A run of table entries. `at` is the byte offset of the run in the program, a multiple of 16.
struct FlatTable {
    std::uint32_t at;
    std::uint32_t count;
};

// In the order of Operation's alternatives.
enum class FlatKind : std::uint32_t {  // NOLINT(performance-enum-size): a word of the device
    kKeep,
    kNull,
    kFixed,
    kHmac,
    kMask,
    kInitials,
    kShortName,
    kEmail,
    kDate,
    kBucket,
    kRound,
    kTop,
    kForm,
    kPick,
    kShiftDate,
    kNoise,
    kGeneralise,
    kEncrypt,
    kDecrypt,
    kSuppress,
};

// What follows a part of an output record.
enum class PartEnd : std::uint8_t {
    kTerminator,    // only the record's terminator, because this is the last part
    kDelimiter,     // the delimiter that follows it in the input
    kNewDelimiter,  // a delimiter, where the input has a terminator
};

// A part of an output record.
struct FlatPart {
    static constexpr std::uint32_t kNoKey = UINT32_MAX;

    std::uint32_t first;  // adjacent columns of the input
    std::uint32_t last;
    std::uint32_t key;  // for a single column: its index among the columns given to with_keys(), or kNoKey
    bool is_changed;    // a single column with rules; otherwise the columns stay as they are
    bool is_left_out;   // not written, only kept: see KeptFields
    PartEnd end;
};

struct FlatRule {
    FlatKind kind;
    std::uint32_t operation;  // its offset in the program
    std::uint32_t first_condition;
    std::uint32_t condition_count;
    std::uint8_t changes_empty;
    std::uint8_t is_plain;  // its results never need quotes or escapes; otherwise each result is checked
    std::uint8_t makes_tokens;
    std::uint8_t reads_value;  // its results depend on the value
};

// The counters of each rule, in the order of RuleCounts.
enum class RuleCounter : std::uint8_t { kSeen, kChanged, kKept, kEmpty, kConditionFalse };

// kIn also stands for `=`. kRare holds for the records that `suppress` applies to; see stage/operations/suppress.h.
// kString holds if the value that the rule is about to change is a string of JSON.
// NOLINTNEXTLINE(performance-enum-size): a word of the device
enum class ConditionKind : std::uint32_t { kIn, kNotEqual, kEmpty, kNotEmpty, kRare, kString };

struct FlatCondition {
    std::uint32_t column;
    ConditionKind kind;
    std::uint32_t first_value;
    std::uint32_t value_count;
};

// A run of bytes in the table of texts.
struct FlatText {
    std::uint32_t at;
    std::uint32_t size;
};

// HMAC-SHA-256 under a key: the states of both hashes after their first block, eight words each (FIPS 180-4). Secret.
struct FlatMacState {
    std::uint32_t inner[8];
    std::uint32_t outer[8];
};

// The beginning of the program.
struct FlatProgram {
    std::uint32_t size;  // of the whole program, in bytes
    std::uint32_t column_count;
    std::uint64_t max_record;  // in bytes; a longer record is a fault
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t has_quote;
    std::uint8_t ends_with_lf;  // the terminator is LF, together with any CR before it
    std::uint8_t makes_one_column;
    FlatText null_token;
    FlatTable parts;         // FlatPart
    FlatTable header_parts;  // the same columns, all unchanged
    FlatTable columns;       // std::uint32_t, one per column plus one: where the column's rules begin in rule_numbers
    FlatTable rule_numbers;  // std::uint32_t
    FlatTable rules;         // FlatRule
    FlatTable conditions;    // FlatCondition
    FlatTable values;        // FlatText
    FlatTable texts;         // bytes
    FlatTable states;        // FlatMacState; only for a device
    // Bit b % 32 of word b / 32 is set if byte b cannot appear as it is in an unquoted field, or in a quoted one.
    std::uint32_t special_plain[8];
    std::uint32_t special_quoted[8];
};

template <class T>
CLEAVE_DEVICE inline const T* entries(const FlatProgram* program, const FlatTable& table) {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::uint8_t*>(program) + table.at);
}

}  // namespace cleave
