// Rules compiled for one input: what a worker does to each record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/stage.h"
#include "stage/dialect_codec.h"
#include "stage/key_names.h"
#include "stage/rules.h"

namespace cleave {

// A part of an output record.
struct OutputPart {
    // What follows it.
    enum class End : std::uint8_t {
        kDelimiter,     // the delimiter that follows it in the input
        kNewDelimiter,  // a delimiter, where the input has a terminator
        kTerminator,    // nothing of its own: it is the last part
    };

    static constexpr std::size_t kNoKey = SIZE_MAX;

    std::size_t first = 0;  // columns of the input, which stand one after another
    std::size_t last = 0;
    bool is_changed = false;  // one column, with rules; else the columns stay as they are
    End end = End::kTerminator;
    std::size_t key = kNoKey;  // of one column: its place among Program::key_count, see with_keys()
    bool is_left_out = false;  // only a key is read from it
};

struct Stage::Program {
    explicit Program(const Dialect& of) : dialect(of), codec(of) {}

    Dialect dialect;
    DialectCodec codec;
    std::size_t column_count = 0;
    RuleSet rules;
    // For each rule, whether what it makes of a value never needs quotes or escapes in this dialect.
    std::vector<char> is_plain;
    // For each rule, whether it makes tokens.
    std::vector<char> makes_tokens;
    std::vector<OutputPart> parts;
    std::vector<OutputPart> header_parts;  // the same columns, all of which stay
    bool makes_one_column = false;
    std::size_t key_count = 0;  // columns that are keys: see with_keys()
    // Columns of the output in which no operation changes every value, for StageOptions::forbid_mail and _card.
    std::vector<std::size_t> watched;
    bool forbid_mail = false;
    bool forbid_card = false;
    bool only_counts_forbidden = false;
    bool refuses_backslash = false;  // before a quote in a quoted field: see StageOptions::is_escape_given
    std::string null_token;
    std::uint64_t max_record = 0;
    KeyUses uses{{}};
    const KeyRing* keys = nullptr;
    std::string digest;
    std::vector<std::pair<std::string, std::string>> key_ids;
};

// The same stage, whose workers also hand over what they write into these columns of the input, all of which are
// written: see StageWorker::key_fields(). If they are left out, which may not be all columns, they are not written
// otherwise; all else is done with them as before.
Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out);

}  // namespace cleave
