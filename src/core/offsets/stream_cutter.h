// Cuts bytes that arrive in order, with the same result as plan.cpp:
//
//   at each record start: if the record before it does not fit into the piece, cut before that record;
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
#include "core/offsets/piece_state.h"
#include "core/reader/spill.h"

namespace cleave {

// For one thread at a time.
class StreamCutter {
public:
    // `input_size` is used only if the policy sets the number of pieces. `sink` must outlive the cutter.
    StreamCutter(Policy policy, PieceSink& sink, std::uint64_t input_size)
        : policy_(std::move(policy)), sink_(sink), input_size_(input_size), state_(policy_) {}
    StreamCutter(const StreamCutter&) = delete;
    StreamCutter& operator=(const StreamCutter&) = delete;

    // Sets how many records are not data. Call this before the first feed().
    void set_header_records(std::uint64_t count) { header_records_ = count; }

    // Takes the next bytes of the stream, with a bit for each byte that is set if a record starts there.
    void feed(std::span<const std::uint8_t> chunk, std::span<const std::uint64_t> starts) {
        chunk_ = chunk;
        for (std::size_t i = 0; i < starts.size(); ++i) {
            if (starts[i] != 0) take_starts(starts[i], base_ + i * 64);
        }
        const std::uint64_t end = base_ + chunk.size();
        if (in_header_) {
            take_header(end);
        } else if (open_) {
            if (!state_.fits(end)) cut(state_.end());
            // If there is a size limit and the piece already has records, the record in progress may belong to the next
            // piece.
            send(state_.limits().size == kUnlimited || state_.records() == 0 ? end : state_.end());
            hold(end);
        }
        base_ = end;
    }

    // `findings` describe the whole stream.
    void finish(const Findings& findings) {
        chunk_ = {};
        if (open_) {
            if (!state_.fits(base_)) cut(state_.end());
            state_.take(base_);
        } else if (policy_.pieces) {
            begin_piece(base_);
        } else if (header_size_in(policy_.header, 1, header_size_) > 0) {
            check_header_size(policy_, header_size_, findings);
            begin_piece(base_);
        }
        while (policy_.pieces && state_.number() < *policy_.pieces) cut(base_);
        if (open_) end_piece(base_);
    }

private:
    // Takes the record starts among the 64 bytes from `offset` on.
    void take_starts(std::uint64_t bits, std::uint64_t offset) {
        const std::uint64_t count = count_bits(bits);
        const std::uint64_t last = offset + static_cast<std::uint64_t>(std::bit_width(bits)) - 1;
        if (open_ && last < share_end_ && state_.has_room(last, count + 1)) {
            state_.take(last, count);
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
        if (open_) {
            if (!state_.fits(offset)) cut(state_.end());
            state_.take(offset);
            if (state_.is_full()) cut(offset);
        } else {
            begin_piece(offset);
        }
        while (offset >= share_end_) cut(offset);
    }

    // Ends the piece at `offset`, where a record begins, and begins the next one there.
    void cut(std::uint64_t offset) {
        end_piece(offset);
        begin_piece(offset);
    }

    void begin_piece(std::uint64_t offset) {
        state_.open(offset, header_size_);
        open_ = true;
        sent_ = offset;
        const std::uint64_t number = state_.number();
        share_end_ = policy_.pieces && number < *policy_.pieces
                         ? cleave::share_end(policy_, number, header_size_, input_size_)
                         : kUnlimited;
        sink_.begin(state_.piece());
    }

    void end_piece(std::uint64_t offset) {
        send(offset);
        sink_.end(state_.close());
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
    bool in_header_ = true;   // also without a header, until something is fed
    std::uint64_t header_records_ = 0;
    std::uint64_t header_started_ = 0;  // header records begun so far, including the one in progress
    std::uint64_t header_size_ = 0;
    bool open_ = false;                     // a piece is open; the members up to sent_ describe it
    PieceState state_;                      // without the record in progress, which begins where the state ends
    std::uint64_t share_end_ = kUnlimited;  // with a piece count: a record start from here on ends the piece
    std::uint64_t sent_ = 0;                // the sink has the bytes up to here
    SpillBuffer held_;
};

}  // namespace cleave
