// What would become of pieces.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "write/file_target.h"
#include "write/piece_target.h"

namespace cleave {

// Refuses what FileTarget would, and makes nothing.
class DryTarget : public PieceTarget {
public:
    // See FileTarget. The files of commands are not checked: there are none.
    DryTarget(const Input& input, HeaderMode header, const PieceNamer& namer, const OutputOptions& options,
              unsigned threads);

    std::vector<char> prepare(std::span<const Piece> pieces, std::span<const std::string> paths) override;
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    bool hold(std::span<const Piece>, std::span<const std::string>) override { return true; }
    const Cancellation* cancellation() const noexcept override { return input_.cancellation(); }
    void seal(const std::string& /*manifest*/) override {}
    void commit() noexcept override {}

private:
    const Input& input_;
    std::optional<FileTarget> files_;
    bool are_checked_ = false;  // all names
};

}  // namespace cleave
