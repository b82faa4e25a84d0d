#include "write/dry_target.h"

namespace cleave {

DryTarget::DryTarget(const Input& input, HeaderMode header, const PieceNamer& namer, const OutputOptions& options,
                     unsigned threads)
    : input_(input) {
    if (options.filter.empty()) files_.emplace(input, header, namer, options, threads);
}

std::vector<char> DryTarget::prepare(std::span<const Piece> pieces, std::span<const std::string> paths) {
    if (files_) {
        files_->check_access();
        files_->check(pieces, paths);
    }
    are_checked_ = !paths.empty();
    return std::vector<char>(pieces.size());
}

std::unique_ptr<PieceOutput> DryTarget::open(const Piece&, const std::string& path) {
    if (files_ && !are_checked_) files_->check({}, {&path, 1});
    return std::make_unique<NullOutput>();
}

}  // namespace cleave
