// Cuts records into pieces according to how many bytes are written for them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "core/offsets/piece_state.h"
#include "core/reader/copy.h"

namespace cleave {

// A piece of the input, and what is written for it.
struct RewrittenPiece {
    BlobRange range;           // of the input
    std::uint64_t record = 0;  // the number of the first record in the range, from 0, counting the header
    Piece written;             // offsets and sizes in what is written; 0 where unknown
};

class MeasuringCutter {
public:
    // `mark` is the range of the byte order mark, which begins the first piece. It is empty if the mark is part of a
    // header.
    MeasuringCutter(const Policy& policy, std::span<const Piece> cuts, std::uint64_t header_size, BlobRange mark,
                    std::uint64_t record)
        : policy_(policy), cuts_(cuts), header_size_(header_size), state_(policy) {
        begin(mark.offset, record);
        state_.take(state_.end() + mark.size, 0);
    }

    // Takes the next record of the input: where it begins, its number, how many bytes are written for it, and whether a
    // piece may begin with it. Under Policy::together a piece may begin only where the value changes.
    void take(std::uint64_t offset, std::uint64_t record, std::uint64_t size, bool may_begin) {
        if (!cuts_.empty()) {
            // The open piece is cuts_[pieces_.size()].
            while (may_begin && pieces_.size() + 1 < cuts_.size() && offset >= cuts_[pieces_.size() + 1].start) {
                cut(offset, record);
            }
        } else if (policy_.together) {
            keep_together(offset, record, size, may_begin);
        } else if (!state_.fits(state_.end() + size)) {
            cut(offset, record);
        }
        state_.take(state_.end() + size);
    }

    // `end` is where the input ends, and `record` is how many records it has.
    std::vector<RewrittenPiece> finish(std::uint64_t end, std::uint64_t record) {
        while (pieces_.size() + 1 < cuts_.size()) cut(end, record);
        const bool is_written =
            state_.length() > 0 || !cuts_.empty() || header_size_in(policy_.header, state_.number(), header_size_) > 0;
        if (is_written) close(end);
        return std::move(pieces_);
    }

private:
    void begin(std::uint64_t offset, std::uint64_t record) {
        state_.open(pieces_.empty() ? header_size_ : state_.end(), header_size_);
        open_ = {{offset, 0}, record, {}};
        change_ = {};
    }
    // Called before a record is taken. Cuts after a run of equal values that does not fit, and at the latest change if
    // the record does not fit.
    void keep_together(std::uint64_t offset, std::uint64_t record, std::uint64_t size, bool is_change) {
        if (state_.records() == 0) return;
        if (is_change && state_.is_oversize()) return cut(offset, record);
        if (is_change) change_ = {offset, record, state_.records(), state_.end()};
        if (state_.has_room(state_.end() + size) || change_.records == 0) return;
        const std::uint64_t records = state_.records() - change_.records;
        const std::uint64_t end = state_.end();
        state_.give_back(change_.end, change_.records);
        cut(change_.offset, change_.record);
        state_.take(end, records);
    }
    void close(std::uint64_t offset) {
        open_.range.size = offset - open_.range.offset;
        open_.written = state_.close();
        pieces_.push_back(open_);
    }
    void cut(std::uint64_t offset, std::uint64_t record) {
        close(offset);
        begin(offset, record);
    }

    // The latest change in the open piece, and how much of the piece comes before it. `records` is 0 if there is no
    // change.
    struct Change {
        std::uint64_t offset = 0;
        std::uint64_t record = 0;
        std::uint64_t records = 0;
        std::uint64_t end = 0;  // of what is written for these records
    };

    const Policy& policy_;
    std::span<const Piece> cuts_;
    std::uint64_t header_size_;
    std::vector<RewrittenPiece> pieces_;
    RewrittenPiece open_;
    PieceState state_;
    Change change_;
};

}  // namespace cleave
