// Cuts bytes that come in order, with the same result as plan.cpp:
//
//   at each record start: if the record before it made the piece too long, cut before that record;
//                         if the piece is full, cut here
//   after each chunk: pass on the bytes up to the last record start; hold back the record in progress, unless it
//                     belongs to this piece whatever its size
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <span>
#include <utility>

#include "base/bits.h"
#include "cleave/plan.h"
#include "io/spill.h"
#include "plan/limits.h"

namespace cleave {

// For one thread at a time.
class StreamCutter {
public:
    // Only policies by pieces use `input_size`. `sink` must outlive the cutter.
    StreamCutter(Policy policy, PieceSink& sink, std::uint64_t input_size)
        : policy_(std::move(policy)), sink_(sink), input_size_(input_size) {}

    // How many records are not data. To be called before the first feed().
    void set_header_records(std::uint64_t count) { header_records_ = count; }

    // The next bytes of the stream, and a bit for each at which a record starts.
    void feed(std::span<const std::uint8_t> chunk, std::span<const std::uint64_t> starts) {
        chunk_ = chunk;
        for (std::size_t i = 0; i < starts.size(); ++i) {
            if (starts[i] != 0) take_starts(starts[i], base_ + i * 64);
        }
        const std::uint64_t end = base_ + chunk.size();
        if (in_header_) {
            take_header(end);
        } else if (open_) {
            if (too_long(end)) cut(last_, started_ - 1);
            // The record in progress may belong to the next piece, unless there is no size limit or it is the only one.
            send(limits_.size == kUnlimited || last_ == piece_.start ? end : last_);
            hold(end);
        }
        base_ = end;
    }

    // `findings` are those of the whole stream.
    void finish(const Findings& findings) {
        chunk_ = {};
        if (policy_.pieces) {
            finish_shares();
        } else if (open_) {
            if (too_long(base_)) cut(last_, started_ - 1);
            end_piece(base_, started_);
        } else if (header_size_in(policy_.header, 1, header_size_) > 0) {
            check_header_size(policy_, header_size_, findings);
            begin_piece(base_);
            end_piece(base_, 0);
        }
    }

private:
    // Ends the remaining pieces at the end of the input.
    void finish_shares() {
        if (!open_) {
            begin_piece(base_);
            started_ = 0;
        }
        for (; piece_.number < *policy_.pieces; started_ = 0) cut(base_, started_);
        end_piece(base_, started_);
    }

    // Takes the record starts among the 64 bytes from `offset` on.
    void take_starts(std::uint64_t bits, std::uint64_t offset) {
        const std::uint64_t count = count_bits(bits);
        const std::uint64_t last = offset + static_cast<std::uint64_t>(std::bit_width(bits)) - 1;
        if (open_ && count <= limits_.records - started_ && last - piece_.start <= limits_.size && last < share_end_) {
            started_ += count;
            last_ = last;
            return;
        }
        for (; bits != 0; bits &= bits - 1) start_record(offset + static_cast<std::uint64_t>(std::countr_zero(bits)));
    }

    void start_record(std::uint64_t offset) {
        if (in_header_) {
            if (header_started_ < header_records_) {
                ++header_started_;
                return;
            }
            take_header(offset);
            check_header_size(policy_, header_size_);
            in_header_ = false;
        }
        if (!open_) {
            begin_piece(offset);
            end_shares(offset, 0);
            return;
        }
        if (offset >= share_end_) {
            end_shares(offset, started_);
            return;
        }
        if (too_long(offset)) cut(last_, started_ - 1);
        if (started_ == limits_.records || offset - piece_.start > limits_.size) {
            cut(offset, started_);
            return;
        }
        ++started_;
        last_ = offset;
    }

    // Ends the pieces whose share ends at `offset` or before it: the first one with `records` records, the others with
    // none.
    void end_shares(std::uint64_t offset, std::uint64_t records) {
        for (; offset >= share_end_; records = 0) cut(offset, records);
    }

    // Whether the record in progress, if it goes on to `end`, makes the piece too long. A record that stands alone does
    // not.
    bool too_long(std::uint64_t end) const { return end - piece_.start > limits_.size && last_ > piece_.start; }

    // Ends the piece, of `records` records, at `offset`; the next one begins there.
    void cut(std::uint64_t offset, std::uint64_t records) {
        end_piece(offset, records);
        begin_piece(offset);
    }

    void begin_piece(std::uint64_t offset) {
        piece_ = Piece{piece_.number + (any_ ? 1 : 0), offset, 0, piece_.first_record + piece_.records, 0, false};
        any_ = open_ = true;
        started_ = 1;
        last_ = sent_ = offset;
        limits_ = limits_of(policy_, piece_.number, header_size_);
        share_end_ = policy_.pieces && piece_.number < *policy_.pieces
                         ? cleave::share_end(policy_, piece_.number, header_size_, input_size_)
                         : kUnlimited;
        sink_.begin(piece_);
    }

    void end_piece(std::uint64_t offset, std::uint64_t records) {
        send(offset);
        piece_.length = offset - piece_.start;
        piece_.records = records;
        piece_.oversize = records == 1 && piece_.length > limits_.size;
        sink_.end(piece_);
        open_ = false;
    }

    // Gives the sink the bytes of the piece up to `offset`: first the held ones, which begin at sent_ and end at base_.
    void send(std::uint64_t offset) {
        if (offset == sent_) return;
        if (!held_.empty()) {
            held_.for_each_part([this](std::span<const std::uint8_t> bytes) { sink_.body(bytes); });
            held_.clear();
            sent_ = base_;
        }
        if (offset > sent_) sink_.body(in_chunk(sent_, offset));
        sent_ = offset;
    }

    void hold(std::uint64_t end) {
        const std::uint64_t begin = std::max(sent_, base_);
        if (begin < end) held_.append(in_chunk(begin, end));
    }

    void take_header(std::uint64_t end) {
        if (end == header_size_) return;
        const auto bytes = in_chunk(header_size_, end);
        header_size_ = end;
        sink_.header(bytes);
    }

    std::span<const std::uint8_t> in_chunk(std::uint64_t begin, std::uint64_t end) const {
        assert(begin >= base_ && end >= begin && end - base_ <= chunk_.size());
        return chunk_.subspan(begin - base_, end - begin);
    }

    Policy policy_;
    PieceSink& sink_;
    std::uint64_t input_size_;
    std::span<const std::uint8_t> chunk_;
    std::uint64_t base_ = 0;  // where chunk_ begins
    bool in_header_ = true;   // or there is none, and nothing was fed yet
    std::uint64_t header_records_ = 0;
    std::uint64_t header_started_ = 0;  // records of the header, the one in progress included
    std::uint64_t header_size_ = 0;
    bool any_ = false;   // there was a piece
    bool open_ = false;  // a piece is open; the members up to sent_ describe it
    Piece piece_;
    Limits limits_{};
    std::uint64_t share_end_ = kUnlimited;  // by pieces: the first record start at or after this ends the piece
    std::uint64_t started_ = 0;             // records, the one in progress included
    std::uint64_t last_ = 0;                // where the record in progress starts
    std::uint64_t sent_ = 0;                // the sink has the bytes up to here
    SpillBuffer held_;
};

}  // namespace cleave
