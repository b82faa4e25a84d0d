// Pieces that are ranges of records, which a stage changes on their way. How many bytes a piece has then is measured
// beforehand only where the plan, a name or a command needs it.
#pragma once

#include <vector>

#include "job/piece_bytes.h"

namespace cleave {

class RewrittenRecords final : public PieceBytes {
public:
    // The context has a stage.
    explicit RewrittenRecords(const JobContext& context);

    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return false; }

private:
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);

    bool is_measured_;
    std::vector<RewrittenPiece> rewritten_;
    unsigned share_ = 1;  // threads for each piece
};

}  // namespace cleave
