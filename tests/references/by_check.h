// Pieces by value, judged: the records of a text, read a byte at a time, are sorted into pieces one after the other by
// the letter of include/cleave/plan.h. The judge shares no code with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan_by_value.h"

namespace cleave::test {

using Key = std::vector<std::string>;  // a value for each column

// All records of a text with their keys.
struct KeyedRecords {
    std::vector<std::uint64_t> begins;  // and the size of the text
    std::vector<Key> keys;
    std::vector<bool> lacks;  // one of the fields
    std::size_t body = 0;
};

// The dialect has no preamble.
KeyedRecords read_records(const std::string& text, const Dialect& dialect, const std::vector<std::size_t>& columns,
                          HeaderMode header);

// The first record, if any, at which planning has to stop: one without the field, or one with a key too many.
struct Stop {
    std::size_t record;
    bool is_missing;
};

std::optional<Stop> first_stop(const KeyedRecords& all, const ByValue& by);

struct ExpectedPiece {
    Piece piece;
    Key key;  // not of buckets
    std::uint64_t before = 0;
    std::string body;
};

// Of records that are not to be stopped at.
std::vector<ExpectedPiece> expected_pieces(const std::string& text, const KeyedRecords& all, const Policy& policy);

// Expects that a plan whose parts are listed has these pieces.
void expect_plan(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                 const Policy& policy, std::uint64_t header_size);

// Expects that a plan that can scatter writes every byte of every piece once.
void expect_scattered(const std::string& text, const PlanByValue& plan, const std::vector<ExpectedPiece>& expected,
                      HeaderMode header);

}  // namespace cleave::test
