#include "core/writer/dry_target.h"

#include "core/writer/destination.h"

namespace cleave {

DryTarget::DryTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
                     bool has_rules)
    : input_(input) {
    if (destination_of(options).is_files) files_.emplace(input, namer, options, threads, has_rules);
}

std::vector<char> DryTarget::prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    if (!files_) return std::vector<char>(pieces.size());
    files_->check_access();
    return files_->compare(pieces, paths, parts_of);
}

std::unique_ptr<PieceOutput> DryTarget::open(const Piece& piece, const std::string& path) {
    if (!files_) return std::make_unique<NullOutput>();
    return files_->open_compared(piece, path);
}

void DryTarget::seal(const SideTexts& texts) {
    if (files_) files_->check_texts(texts);
}

}  // namespace cleave
