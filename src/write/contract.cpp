#include "write/contract.h"

#include <stdexcept>
#include <string>

namespace cleave {
namespace {

void check(const CompressionOptions& wanted) {
    if (wanted.format == Compression::kNone) return;
    const int least = least_level(wanted.format);
    const int most = most_level(wanted.format);
    if (wanted.level < least || wanted.level > most) {
        throw std::invalid_argument("split: the level of " + std::string(compression_name(wanted.format)) +
                                    " is not in " + std::to_string(least) + " .. " + std::to_string(most));
    }
}

}  // namespace

void check(const Input& input, std::span<const Piece> pieces, std::uint64_t header_size) {
    const std::uint64_t size = input.blob().size();
    if (header_size > size) throw std::invalid_argument("split: the header is larger than the input");
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Piece& piece = pieces[i];
        if (piece.number != i + 1) throw std::invalid_argument("split: the pieces are not numbered 1, 2, 3 in order");
        if (piece.start > size || piece.length > size - piece.start) {
            throw std::invalid_argument("split: piece " + std::to_string(piece.number) + " ends after the input");
        }
    }
}

void check(const SplitOptions& options) {
    if (options.threads == 0) throw std::invalid_argument("split: at least one thread is needed");
    if (!options.finished) throw std::invalid_argument("split: options.finished is an empty function");
    if (!options.filter.empty()) return;  // the rest has to do with files
    if (!options.manifest.empty() && !options.manifest_text) {
        throw std::invalid_argument("split: a manifest needs options.manifest_text");
    }
    check(options.compression);
}

}  // namespace cleave
