// Pieces that are scanned, cut and written part by part, in order: the pieces of a stream, or of a file that is better
// read only once.
#pragma once

#include "engine/piece_bytes.h"

namespace cleave {

class BytesOfStream final : public PieceBytes {
public:
    explicit BytesOfStream(const JobContext& context) : PieceBytes(context) {}

    bool is_planned() const override { return false; }
    std::optional<std::uint64_t> count() const override { return context_.policy.pieces; }
    NameList names(const PieceNamer& namer) const override;
    void write(PieceTarget& target, const PieceNamer& namer, const NameList& paths) override;
    bool is_of_input() const noexcept override { return context_.rewriting == nullptr; }
};

}  // namespace cleave
