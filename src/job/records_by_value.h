// Pieces by value: where their records lie, and the plan.
//
//   no stage, columns stay     in the input
//   a stage                    the changed records go to a temporary file, in order, without columns that are left out;
//                              their keys are read on the way, before these columns go
//   columns are left out       records go, after their keys were read, to a temporary file without the columns
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/temporary_blob.h"
#include "job/piece_bytes.h"
#include "plan/plan_by_value.h"

namespace cleave {

class RecordsByValue final : public PieceBytes {
public:
    // The policy has Policy::by.
    explicit RecordsByValue(const JobContext& context);

    std::optional<std::uint64_t> most_of_value() const override;
    std::vector<std::string> values_of(std::uint64_t number) const override { return plan_->values_of(number); }
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
    bool can_scatter(const PieceTarget& target) const;
    bool write_scattered(PieceTarget& target, const NameList& paths);
    void scatter(std::span<const std::unique_ptr<PieceOutput>> outputs) const;
    void regroup(std::uint64_t memory);
    const Blob& blob() const;  // what pieces consist of lies there

    std::optional<TemporaryBlob> rewritten_;  // by the stage, or without columns
    std::optional<TemporaryBlob> grouped_;    // piece by piece, roughly
    std::optional<PlanByValue> plan_;
};

}  // namespace cleave
