// Checks pieces by value: sorts the records of a text, read a byte at a time, into pieces one record after another,
// exactly as include/cleave/plan.h specifies. Shares no code with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rows/values/plan_by_value.h"

namespace cleave::test {

using Key = std::vector<std::string>;  // one value per column

// All records of a text with their values.
struct KeyedRecords {
    std::vector<std::uint64_t> begins;  // where each record begins, then the size of the text
    std::vector<Key> keys;
    std::vector<bool> lacks;  // whether the record lacks one of the fields
    std::size_t body = 0;
};

// The dialect has no preamble.
KeyedRecords read_records(const std::string& text, const Dialect& dialect, const std::vector<std::size_t>& columns,
                          HeaderMode header);

// The first record, if any, at which planning has to stop: one that lacks a field, or that adds one value too many.
struct Stop {
    std::size_t record;
    bool is_missing;
};

std::optional<Stop> first_stop(const KeyedRecords& all, const ByValue& by);

struct ExpectedPiece {
    Piece piece;
    Key key;  // empty for a bucket or a part
    std::uint64_t before = 0;
    std::string body;
};

// The text must not have a record to stop at.
std::vector<ExpectedPiece> expected_pieces(const std::string& text, const KeyedRecords& all, const Policy& policy);

// Expects a plan with listed parts to have these pieces.
void expect_plan(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                 const Policy& policy, std::uint64_t header_size);

// Expects a plan that can scatter to write every byte of every piece exactly once.
void expect_scattered(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                      HeaderMode header);

}  // namespace cleave::test
