#include "write/dry_target.h"

namespace cleave {

DryTarget::DryTarget(const Input& input, const PieceNamer& namer, const OutputOptions& options, unsigned threads,
                     bool has_rules)
    : input_(input) {
    if (options.filter.empty()) files_.emplace(input, namer, options, threads, has_rules);
}

std::vector<char> DryTarget::prepare(std::span<const Piece> pieces, const NameList& paths, const PartsOf& parts_of) {
    if (files_) {
        files_->check_access();
        files_->check(pieces, paths, parts_of);
    }
    are_checked_ = !paths.empty();
    return std::vector<char>(pieces.size());
}

std::unique_ptr<PieceOutput> DryTarget::open(const Piece&, const std::string& path) {
    if (files_ && !are_checked_) {
        NameList paths;
        paths.append(path);
        files_->check({}, paths, {});
    }
    return std::make_unique<NullOutput>();
}

}  // namespace cleave
