// Pieces that are ranges of the input, unchanged.
#pragma once

#include "engine/piece_bytes.h"

namespace cleave {

class RangesOfInput final : public PieceBytes {
public:
    explicit RangesOfInput(const JobContext& context);

    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return true; }

private:
    std::uint64_t write_piece(std::size_t i, PieceOutput& output);
};

}  // namespace cleave
