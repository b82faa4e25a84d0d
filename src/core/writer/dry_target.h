// The target of a dry run.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/writer/destination.h"
#include "core/writer/file_target.h"
#include "core/writer/piece_target.h"

namespace cleave {

// Throws what FileTarget would throw about the names, the cuts and existing files, but writes nothing.
class DryTarget : public PieceTarget {
public:
    // See FileTarget. With a filter there are no files, so nothing is checked.
    DryTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
              bool has_rules)
        : input_(input) {
        if (destination_of(options).is_files) files_.emplace(input, namer, options, threads, has_rules);
    }

    std::vector<char> prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) override {
        if (!files_) return std::vector<char>(pieces.size());
        files_->check_access();
        return files_->compare(pieces, paths, parts_of);
    }
    std::unique_ptr<PieceOutput> open(const Piece& piece, const std::string& path) override {
        if (!files_) return std::make_unique<NullOutput>();
        return files_->open_compared(piece, path);
    }
    bool match_input(std::span<const Piece>, const NameList&, const PartsOf&) override { return true; }
    const Cancellation* cancellation() const noexcept override { return input_.cancellation(); }
    void seal(const SideTexts& texts) override {
        if (files_) files_->check_texts(texts);
    }
    void commit() noexcept override {}

private:
    const Input& input_;
    std::optional<FileTarget> files_;
};

}  // namespace cleave
