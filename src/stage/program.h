// Rules compiled for one input: what a worker does to each record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/stage.h"
#include "stage/dialect_codec.h"
#include "stage/flat_program.h"
#include "stage/key_names.h"
#include "stage/rules.h"

namespace cleave {

struct Stage::Program {
    explicit Program(const Dialect& of) : dialect(of), codec(of) {}

    Dialect dialect;
    DialectCodec codec;
    std::size_t column_count = 0;
    RuleSet rules;
    std::vector<std::uint8_t> flat_bytes;  // see stage/flatten.h
    std::size_t key_count = 0;             // columns that are keys: see with_keys()
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

    // What workers carry out.
    const FlatProgram& flat() const { return *reinterpret_cast<const FlatProgram*>(flat_bytes.data()); }
};

// The same stage, whose workers also hand over what they write into these columns of the input, all of which are
// written: see StageWorker::key_fields(). If they are left out, which may not be all columns, they are not written
// otherwise; all else is done with them as before.
Stage with_keys(const Stage& stage, std::span<const std::size_t> columns, bool are_left_out);

}  // namespace cleave
