// The target of a dry run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/writer/file_target.h"
#include "core/writer/piece_target.h"

namespace cleave {

// Throws what FileTarget would throw about the names, the cuts and existing files, but writes nothing.
class DryTarget : public PieceTarget {
public:
    // See FileTarget. With a filter there are no files, so nothing is checked.
    DryTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
              bool has_rules);

    std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override;
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override;
    bool match_input(std::span<const Piece>, const NameList&, const PartsOf&) override { return true; }
    const Cancellation* cancellation() const noexcept override { return input_.cancellation(); }
    void seal(const SideTexts& texts) override;
    void commit() noexcept override {}

private:
    const Input& input_;
    std::optional<FileTarget> files_;
};

}  // namespace cleave
