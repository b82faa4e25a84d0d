// Pieces that are ranges of records that a stage changes on the way. The size of a piece after the change is measured
// in advance only if the plan, a name or a command needs it.
#pragma once

#include <vector>

#include "engine/piece_bytes.h"
#include "features/redact/lane/rewriting.h"

namespace cleave {

class RewrittenRecords final : public PieceBytes {
public:
    // The context must have a stage.
    explicit RewrittenRecords(const JobContext& context);

    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return false; }

private:
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);

    bool is_measured_;
    std::vector<RewrittenPiece> rewritten_;
    unsigned share_ = 1;  // threads per piece
};

}  // namespace cleave
