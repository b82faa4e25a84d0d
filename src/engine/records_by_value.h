// Pieces by value: where their records are, and their plan.
//
//   no stage, all columns kept   records stay in the input
//   a stage                      changed records go to a temporary file, in order, without the columns to leave out;
//                                their keys are read on the way, before these columns are dropped
//   only columns left out        once their keys have been read, records go to a temporary file without these columns
#pragma once

#include <optional>
#include <vector>

#include "engine/piece_bytes.h"
#include "rows/values/plan_by_value.h"
#include "rows/values/scratch_memory.h"

namespace cleave {

class RecordsByValue final : public PieceBytes {
public:
    // The policy must set Policy::by.
    explicit RecordsByValue(const JobContext& context);

    std::optional<std::uint64_t> most_of_value() const override;
    void identify(std::uint64_t number, PieceResult& result) const override;
    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return !rewritten_; }

private:
    NameList names_of(std::span<const Piece> pieces, const PieceNamer& namer) const override;
    std::vector<Piece> plan_again(const RecordIndex& index) override;
    std::span<const BlobRange> parts_of(const Piece& piece, PartsRoom& room) const override;
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);
    void throw_if_lost() const override;

    void plan_input();
    void plan_staged();
    void plan_shortened(const RecordIndex& index, const std::vector<KeyColumn>& columns);
    const std::vector<Part>& named_parts() const { return context_.policy.by->parts; }
    bool can_scatter(const PieceTarget& target) const;
    bool write_scattered(PieceTarget& target, const NameList& paths);
    void scatter(std::span<const std::unique_ptr<PieceOutput>> outputs) const;
    void regroup(std::uint64_t memory);
    const Blob& blob() const;  // the blob that contains the records of the pieces

    std::optional<TemporaryBlob> rewritten_;  // records as changed by the stage, or without dropped columns
    std::optional<TemporaryBlob> grouped_;    // the records, roughly in the order of the pieces
    std::optional<PlanByValue> plan_;
};

}  // namespace cleave
