// A stage together with the input that it changes: plans and writes the changed records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/stage.h"
#include "features/redact/lane/record_lane.h"
#include "rows/values/key_field.h"

namespace cleave {

// For one thread at a time, except for write_piece() and write_run(). Whatever it refers to must outlive it.
class Rewriting {
public:
    using Write = std::function<void(std::span<const std::uint8_t> bytes)>;

    // Receives the rules once they are compiled, before any records are read, and header_records().
    using Compiled = std::function<void(const Stage& stage, std::uint64_t header_records)>;

    // Compiles the rules against the header of the input, which must not have been read. Drops an incomplete last
    // record of a snapshot from the input. With `suppress`, makes the first pass over the input. Throws what run_job()
    // throws.
    Rewriting(Input& input, const Dialect& dialect, const Policy& policy, const JobRules& job,
              const Execution& execution, const Compiled& compiled = {});

    const Stage& stage() const { return stage_; }
    // The size of the header as it is written; 0 without a header.
    std::uint64_t header_size() const { return head_.has_header ? lane_.header().size() : 0; }
    // prefix() is what is written before the header record; header_record() is the header record as it is written.
    // Without a header, prefix() is the byte order mark and header_record() is empty.
    std::span<const std::uint8_t> prefix() const { return lane_.header().first(head_.prefix().size()); }
    std::span<const std::uint8_t> header_record() const { return lane_.header().subspan(head_.prefix().size()); }
    std::span<const std::uint8_t> header() const { return lane_.header(); }
    // The record that names the columns, as it is written. Without a header, the first record that is not empty. Throws
    // InputError.
    std::vector<std::uint8_t> guiding_record() const;
    // How many records come before the data records. Without a header, a preamble counts as one record.
    std::uint64_t header_records() const { return head_.records; }
    StageCounts counts() const { return lane_.counts(); }

    // Cuts what is written, in order. Not for policies that set the number of pieces.
    Findings cut_in_order(PieceSink& sink);

    // The columns of Policy::by, as columns of what is written, and their positions in the input. Throws RuleError.
    std::vector<KeyColumn> key_columns() const;
    std::vector<std::size_t> places_in_input(std::span<const KeyColumn> columns) const;
    // Columns of the input. Throws RuleError.
    std::vector<KeyColumn> find_columns(const ByValue& by) const;
    // Passes all records on: see RecordLane::write_all(). Returns the findings of the input, with its size after the
    // rules have been applied.
    Findings write_records(const RecordLane::MakeFollower& make, const Stage* keyed);

    // Plans the pieces of a blob. The starts and lengths of what is written remain 0 unless `is_measured` is set. A
    // policy with a size or Policy::together requires it. Returns the findings of the input.
    Findings plan(bool is_measured, std::vector<RewrittenPiece>& pieces);

    // Writes a planned piece with `threads` threads. Returns the number of bytes in its body. Any thread.
    std::uint64_t write_piece(const RewrittenPiece& piece, unsigned threads, const Write& write);

    // Call this after write_piece() has thrown InputError. Throws the InputError of the first fault in the input,
    // because pieces are written in parallel and a later one may reach its fault first. One thread.
    void throw_first_fault() { lane_.throw_first_fault(); }

    // The index of a blob, created when first needed.
    const RecordIndex& index() { return lane_.index(); }
    void write_header(const Write& write) { write(lane_.header()); }
    // Writes a run of whole records of a blob, the first of which is record `record` of the input. Without a header, a
    // byte order mark belongs to the first record. Returns the number of bytes written. Any thread.
    std::uint64_t write_run(BlobRange run, std::uint64_t record, unsigned threads, const Write& write);
    // Like write_run(), but for a single record, and faster. Throws InputChangedError if the range is not exactly one
    // record. One thread.
    void write_record(BlobRange range, std::uint64_t record, const Write& write);

    // write_all() writes all pieces as one. write_one() writes piece `number` of a blob; the policy must set the number
    // of pieces.
    void write_all(const Write& write);
    void write_one(std::uint64_t number, const Write& write);

private:
    BlobRange write_mark(BlobRange run, const Write& write);
    RewrittenPiece piece_together(std::uint64_t number);
    std::uint64_t preamble_records() const { return stage_.dialect().preamble > 0 ? 1 : 0; }

    const Policy& policy_;
    Policy even_;  // the policy without Policy::together
    const Execution& execution_;
    InputHead head_;
    Stage stage_;
    std::optional<KeyField> key_;  // of what is written, with Policy::together
    RecordLane lane_;
};

}  // namespace cleave
