// Pieces as files: shared with the input, copied, or compressed.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cleave/split.h"
#include "write/clone.h"
#include "write/piece_store.h"
#include "write/piece_target.h"

namespace cleave {

class FileTarget : public PieceTarget {
public:
    // What is written of the header, and for pieces that are known beforehand, how much of it; see split_mapped().
    // Everything must outlive the target.
    FileTarget(const Input& input, HeaderMode header, std::uint64_t header_size, const PieceNamer& namer,
               const SplitOptions& options);

    // Throws what prepare() would of the pieces, but writes nothing. Returns which of the names are those of files that
    // may be the pieces.
    std::vector<char> check(std::span<const Piece> pieces, std::span<const std::string> paths);

    // See PieceStore.
    void check_access() const { store_.check_access(); }

    // Throws what PieceStore's begin(), check() and holds() do, and CloneError.
    std::vector<char> prepare(std::span<const Piece> pieces, std::span<const std::string> paths) override;
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    bool hold(std::span<const Piece> pieces, std::span<const std::string> paths) override;
    const Cancellation* cancellation() const noexcept override { return input_.cancellation(); }
    void seal() override { store_.seal(); }
    void commit() noexcept override { store_.commit(); }

private:
    using Parts = std::array<BlobRange, 2>;
    Parts parts_of(const Piece& piece, std::uint64_t header_size) const;

    const Input& input_;
    HeaderMode header_;
    std::uint64_t header_size_;
    const SplitOptions& options_;
    PieceStore store_;
    std::unique_ptr<Cloner> cloner_;  // for a blob that is written as it is
    std::vector<char> may_be_there_;  // by piece, if they are known
};

}  // namespace cleave
