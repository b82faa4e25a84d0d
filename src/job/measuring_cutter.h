// Cuts records into pieces by what is written of them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "io/copy.h"
#include "plan/limits.h"

namespace cleave {

// A piece of the input, and what is written of it.
struct StagedPiece {
    BlobRange range;           // of the input
    std::uint64_t record = 0;  // the first one in the range, from 0, the header counted
    Piece written;             // offsets and sizes of what is written; unknown ones are 0
};

class MeasuringCutter {
public:
    // `mark` is the byte order mark, if it is not part of a header: it begins the first piece.
    MeasuringCutter(const Policy& policy, std::span<const Piece> cuts, std::uint64_t header_size, BlobRange mark,
                    std::uint64_t record)
        : policy_(policy), cuts_(cuts), header_size_(header_size) {
        begin(mark.offset, record);
        open_.written.length = mark.size;
    }

    // The next record of the input: where it begins, its number, the bytes that are written of it, and whether a piece
    // may begin with it: under Policy::together only if the value changes.
    void take(std::uint64_t offset, std::uint64_t record, std::uint64_t size, bool may_begin) {
        if (!cuts_.empty()) {
            // The open piece is cuts_[pieces_.size()].
            while (may_begin && pieces_.size() + 1 < cuts_.size() && offset >= cuts_[pieces_.size() + 1].start) {
                cut(offset, record);
            }
        } else if (policy_.together) {
            keep_together(offset, record, size, may_begin);
        } else if (open_.written.records > 0 &&
                   (open_.written.records == limits_.records || open_.written.length + size > limits_.size)) {
            cut(offset, record);
        }
        ++open_.written.records;
        open_.written.length += size;
    }

    // `end` is where the input ends, `record` how many records it has.
    std::vector<StagedPiece> finish(std::uint64_t end, std::uint64_t record) {
        while (pieces_.size() + 1 < cuts_.size()) cut(end, record);
        const bool is_written = open_.written.length > 0 || !cuts_.empty() ||
                                header_size_in(policy_.header, open_.written.number, header_size_) > 0;
        if (is_written) close(end);
        return std::move(pieces_);
    }

private:
    void begin(std::uint64_t offset, std::uint64_t record) {
        const Piece before = pieces_.empty() ? Piece{0, header_size_, 0, 1, 0} : pieces_.back().written;
        open_ = {{offset, 0}, record, {}};
        open_.written.number = before.number + 1;
        open_.written.start = before.start + before.length;
        open_.written.first_record = before.first_record + before.records;
        limits_ = limits_of(policy_, open_.written.number, header_size_);
        change_ = {};
    }
    // Before a record is taken: cuts behind a run that does not fit, and at the last change if the record does not fit.
    void keep_together(std::uint64_t offset, std::uint64_t record, std::uint64_t size, bool is_change) {
        if (open_.written.records == 0) return;
        if (is_change && is_oversize(open_.written)) {
            cut(offset, record);
            return;
        }
        if (is_change) change_ = {offset, record, open_.written.records, open_.written.length};
        const bool fits = open_.written.records < limits_.records && open_.written.length + size <= limits_.size;
        if (fits || change_.records == 0) return;
        const std::uint64_t records = open_.written.records - change_.records;
        const std::uint64_t length = open_.written.length - change_.length;
        open_.written.records = change_.records;
        open_.written.length = change_.length;
        cut(change_.offset, change_.record);
        open_.written.records = records;
        open_.written.length = length;
    }
    bool is_oversize(const Piece& piece) const {
        return piece.records > limits_.records || piece.length > limits_.size;
    }
    void close(std::uint64_t offset) {
        open_.range.size = offset - open_.range.offset;
        open_.written.oversize = is_oversize(open_.written);
        pieces_.push_back(open_);
    }
    void cut(std::uint64_t offset, std::uint64_t record) {
        close(offset);
        begin(offset, record);
    }

    // The last change in the open piece, and what of the piece is before it; `records` is 0 if there is none.
    struct Change {
        std::uint64_t offset = 0;
        std::uint64_t record = 0;
        std::uint64_t records = 0;
        std::uint64_t length = 0;
    };

    const Policy& policy_;
    std::span<const Piece> cuts_;
    std::uint64_t header_size_;
    std::vector<StagedPiece> pieces_;
    StagedPiece open_;
    Change change_;
    Limits limits_{};
};

}  // namespace cleave
