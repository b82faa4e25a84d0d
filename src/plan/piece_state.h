// The piece that records go into, in order. Whoever cuts going forward keeps one: of a stream, of what is written of
// records. What jumps to its cuts (plan.cpp, range_plan.cpp) uses the arithmetic of plan/limits.h alone.
//
//   open    the next piece begins
//   fits    whether a record goes into this piece; a piece without records takes any
//   take    it does
//   close   the piece is done; whether it is larger than the policy wants is known now
//
// Records are told by where they end: so what a piece has is a difference, and costs nothing while records come.
#pragma once

#include <cstdint>

#include "cleave/plan.h"
#include "plan/limits.h"

namespace cleave {

// For one thread at a time.
class PieceState {
public:
    // `policy` must outlive it.
    explicit PieceState(const Policy& policy) : policy_(&policy) {}

    // The piece after this one, which begins at `start`. `header_size` is that of the input, or of what is written of
    // it.
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
    // Without what it has taken.
    const Piece& piece() const { return piece_; }

    // Whether it stays within the limits if it takes so many records, the last one of which ends at `end`.
    bool has_room(std::uint64_t end, std::uint64_t records = 1) const {
        return is_within(limits_, end - piece_.start, records_ + records);
    }
    bool fits(std::uint64_t end) const { return records_ == 0 || has_room(end); }
    bool is_oversize() const { return !is_within(limits_, length(), records_); }
    // Whether no record fits any more, however small.
    bool is_full() const { return records_ == limits_.records || is_oversize(); }

    void take(std::uint64_t end, std::uint64_t records = 1) {
        records_ += records;
        end_ = end;
    }
    // What it has taken after `records` records, the last one of which ends at `end`.
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
    std::uint64_t end_ = 0;  // of the last one
};

}  // namespace cleave
