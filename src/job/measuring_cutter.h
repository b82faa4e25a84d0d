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

    // The next record of the input: where it begins, its number, and the bytes that are written of it.
    void take(std::uint64_t offset, std::uint64_t record, std::uint64_t size) {
        if (!cuts_.empty()) {
            // The open piece is cuts_[pieces_.size()].
            while (pieces_.size() + 1 < cuts_.size() && offset >= cuts_[pieces_.size() + 1].start) cut(offset, record);
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
    }
    void close(std::uint64_t offset) {
        open_.range.size = offset - open_.range.offset;
        open_.written.oversize = open_.written.records == 1 && open_.written.length > limits_.size;
        pieces_.push_back(open_);
    }
    void cut(std::uint64_t offset, std::uint64_t record) {
        close(offset);
        begin(offset, record);
    }

    const Policy& policy_;
    std::span<const Piece> cuts_;
    std::uint64_t header_size_;
    std::vector<StagedPiece> pieces_;
    StagedPiece open_;
    Limits limits_{};
};

}  // namespace cleave
