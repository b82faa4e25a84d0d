// The state of the piece that is being filled with records. Code that cuts as it moves forward keeps one PieceState,
// whether it cuts a stream or the output of rules. Code that jumps from cut to cut (plan.cpp, range_plan.cpp) uses only
// the arithmetic in core/offsets/limits.h.
//
//   open    begins the next piece
//   fits    whether a record fits into this piece; a piece without records takes any record
//   take    adds the record
//   close   ends the piece; only now is it known whether the piece is larger than the policy allows
//
// A record is identified by the offset where it ends. The length of a piece is therefore a difference, and no sum has
// to be kept as records arrive.
#pragma once

#include <cstdint>

#include "cleave/plan.h"
#include "core/offsets/limits.h"

namespace cleave {

// For one thread at a time.
class PieceState {
public:
    // `policy` must outlive this object.
    explicit PieceState(const Policy& policy) : policy_(&policy) {}

    // Moves to the next piece, which begins at `start`. `header_size` is the size of the header in the input, or in
    // what is written for the input.
    void open(std::uint64_t start, std::uint64_t header_size) {
        piece_ = {piece_.number + 1, start, 0, piece_.first_record + records_, 0};
        limits_ = limits_of(*policy_, piece_.number, header_size);
        records_ = 0;
        end_ = start;
    }

    std::uint64_t number() const { return piece_.number; }
    std::uint64_t records() const { return records_; }
    std::uint64_t length() const { return end_ - piece_.start; }
    std::uint64_t end() const { return end_; }
    const Limits& limits() const { return limits_; }
    // The piece, not counting the records taken so far.
    const Piece& piece() const { return piece_; }

    // Whether the piece stays within the limits if it takes `records` more records, the last of which ends at `end`.
    bool has_room(std::uint64_t end, std::uint64_t records = 1) const {
        return is_within(limits_, end - piece_.start, records_ + records);
    }
    bool fits(std::uint64_t end) const { return records_ == 0 || has_room(end); }
    bool is_oversize() const { return !is_within(limits_, length(), records_); }
    // Whether no further record fits, however small.
    bool is_full() const { return records_ == limits_.records || is_oversize(); }

    void take(std::uint64_t end, std::uint64_t records = 1) {
        records_ += records;
        end_ = end;
    }
    // Gives back all but the first `records` records, the last of which ends at `end`.
    void give_back(std::uint64_t end, std::uint64_t records) {
        records_ = records;
        end_ = end;
    }

    const Piece& close() {
        piece_.length = length();
        piece_.records = records_;
        piece_.oversize = is_oversize();
        return piece_;
    }

private:
    const Policy* policy_;
    Piece piece_{0, 0, 0, 1, 0};
    Limits limits_{};
    std::uint64_t records_ = 0;
    std::uint64_t end_ = 0;  // of the last record
};

}  // namespace cleave
