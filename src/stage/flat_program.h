// The rules of a stage as plain bytes: tables that point at each other by index, in one run of memory that can be
// copied to a device as it is. stage/record.h carries them out. Compiles for a GPU too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/device.h"

namespace cleave {

// A run of entries of a table: `at` is its offset in the program, in bytes, a multiple of 16.
struct FlatTable {
    std::uint32_t at;
    std::uint32_t count;
};

// In the order of the alternatives of Operation.
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
};

// What follows a part of an output record.
enum class PartEnd : std::uint8_t {
    kTerminator,    // nothing of its own: it is the last part
    kDelimiter,     // the delimiter that follows it in the input
    kNewDelimiter,  // a delimiter, where the input has a terminator
};

// A part of an output record.
struct FlatPart {
    static constexpr std::uint32_t kNoKey = UINT32_MAX;

    std::uint32_t first;  // columns of the input, which stand one after another
    std::uint32_t last;
    std::uint32_t key;  // of one column: its place among the keys, see with_keys()
    bool is_changed;    // one column, with rules; else the columns stay as they are
    bool is_left_out;   // only a key is read from it
    PartEnd end;
};

struct FlatRule {
    FlatKind kind;
    std::uint32_t operation;  // its offset in the program
    std::uint32_t first_condition;
    std::uint32_t condition_count;
    std::uint8_t changes_empty;
    std::uint8_t is_plain;  // what it makes of any value needs no quotes and no escapes; else that is looked at
    std::uint8_t makes_tokens;
};

// What is counted for each rule, in the order of RuleCounts.
enum class RuleCounter : std::uint8_t { kSeen, kChanged, kKept, kEmpty, kConditionFalse };

// `=` is kIn too. NOLINTNEXTLINE(performance-enum-size): a word of the device
enum class ConditionKind : std::uint32_t { kIn, kNotEqual, kEmpty, kNotEmpty };

struct FlatCondition {
    std::uint32_t column;
    ConditionKind kind;
    std::uint32_t first_value;
    std::uint32_t value_count;
};

// Some bytes of the table of texts.
struct FlatText {
    std::uint32_t at;
    std::uint32_t size;
};

// HMAC-SHA-256 under a key: the states of both hashes after their first block, eight words each (FIPS 180-4). Secret.
struct FlatMacState {
    std::uint32_t inner[8];
    std::uint32_t outer[8];
};

// The begin of the program.
struct FlatProgram {
    std::uint32_t size;  // of all, in bytes
    std::uint32_t column_count;
    std::uint64_t max_record;  // bytes; a longer record is a fault
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t has_quote;
    std::uint8_t ends_with_lf;  // the terminator is LF, and a CR before it belongs to it
    std::uint8_t makes_one_column;
    FlatText null_token;
    FlatTable parts;         // FlatPart
    FlatTable header_parts;  // the same columns, all of which stay
    FlatTable columns;       // std::uint32_t, one more than there are: where the rules of each begin in rule_numbers
    FlatTable rule_numbers;  // std::uint32_t
    FlatTable rules;         // FlatRule
    FlatTable conditions;    // FlatCondition
    FlatTable values;        // FlatText
    FlatTable texts;         // bytes
    FlatTable states;        // FlatMacState; for a device only
    // Bit b % 32 of word b / 32: byte b cannot stand as it is in an unquoted field; in a quoted one.
    std::uint32_t special_plain[8];
    std::uint32_t special_quoted[8];
};

template <class T>
CLEAVE_DEVICE inline const T* entries(const FlatProgram* program, const FlatTable& table) {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::uint8_t*>(program) + table.at);
}

}  // namespace cleave
