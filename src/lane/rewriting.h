// A stage together with the input that it changes: plans and writes what becomes of the records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cleave/input.h"
#include "cleave/job.h"
#include "cleave/plan.h"
#include "cleave/stage.h"
#include "keys/key_field.h"
#include "lane/record_lane.h"

namespace cleave {

// For one thread at a time, except write_piece(). What it refers to must outlive it.
class Rewriting {
public:
    using Write = std::function<void(std::span<const std::uint8_t> bytes)>;

    // Compiles the rules against the header of the input, which has not been read. Leaves an incomplete last record of
    // a snapshot out of the input. Throws as run_job().
    Rewriting(Input& input, const Dialect& dialect, const Policy& policy, const JobRules& job,
              const Execution& execution);

    const Stage& stage() const { return stage_; }
    // Of the header as it is written; 0 without a header.
    std::uint64_t header_size() const { return head_.has_header ? lane_.header().size() : 0; }
    // As it is written: what comes before the header record, and that; without a header the byte order mark, and none.
    std::span<const std::uint8_t> prefix() const { return lane_.header().first(head_.prefix().size()); }
    std::span<const std::uint8_t> header_record() const { return lane_.header().subspan(head_.prefix().size()); }
    // The record that names the columns as it is written, or without a header the first one that is not empty. Throws
    // InputError.
    std::vector<std::uint8_t> guiding_record() const;
    // Before the records that are data; without a header a preamble counts.
    std::uint64_t header_records() const { return head_.records; }
    StageCounts counts() const { return lane_.counts(); }

    // Cuts what is written, as it comes. Not for policies by pieces.
    Findings cut_in_order(PieceSink& sink);

    // The columns of Policy::by: as columns of what is written, and with their places in the input. Throws RuleError.
    std::vector<KeyColumn> key_columns() const;
    std::vector<std::size_t> places_in_input(std::span<const KeyColumn> columns) const;
    // Passes all records on: see RecordLane::write_all(). Returns the findings of the input, with the size of what the
    // rules have made of it.
    Findings write_records(const RecordLane::MakeFollower& make, const Stage* keyed);

    // Plans the pieces of a blob. Unless `is_measured`, which a policy with a size or Policy::together must have,
    // starts and lengths of what is written stay 0. Returns the findings of the input.
    Findings plan(bool is_measured, std::vector<RewrittenPiece>& pieces);

    // Writes a planned piece, by `threads` threads. Returns the bytes of its body. Any thread.
    std::uint64_t write_piece(const RewrittenPiece& piece, unsigned threads, const Write& write);

    // After write_piece() has thrown InputError: throws that of the first fault in the input. Pieces are written side
    // by side, so a later one may come to its fault first. One thread.
    void throw_first_fault() { lane_.throw_first_fault(); }

    // Of a blob; made when it is needed first.
    const RecordIndex& index() { return lane_.index(); }
    void write_header(const Write& write) { write(lane_.header()); }
    // Writes a run of whole records of a blob, the first of which is record `record` of the input. Without a header, a
    // byte order mark belongs to the first record. Returns the bytes that were written. Any thread.
    std::uint64_t write_run(BlobRange run, std::uint64_t record, unsigned threads, const Write& write);
    // The same with one record, in less time. Throws InputChangedError if the range is not one record. One thread.
    void write_record(BlobRange range, std::uint64_t record, const Write& write);

    // Writes all pieces as one; or piece `number` of a blob, by a policy by pieces.
    void write_all(const Write& write);
    void write_one(std::uint64_t number, const Write& write);

private:
    BlobRange write_mark(BlobRange run, const Write& write);
    RewrittenPiece piece_together(std::uint64_t number);
    std::uint64_t preamble_records() const { return stage_.dialect().preamble > 0 ? 1 : 0; }

    const Policy& policy_;
    Policy even_;  // without Policy::together
    const Execution& execution_;
    InputHead head_;
    Stage stage_;
    std::optional<KeyField> key_;  // of what is written, with Policy::together
    RecordLane lane_;
};

}  // namespace cleave
