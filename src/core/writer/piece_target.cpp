#include "core/writer/piece_target.h"

#include "base/equal_names.h"
#include "cleave/error.h"
#include "core/reader/copy.h"

namespace cleave {

void PieceOutput::write_at(std::uint64_t, std::span<const std::uint8_t>) {
    throw LogicError("write: these bytes must come in order");
}

void PieceOutput::write_body(const Input& input, const Piece& piece, std::uint64_t, Meter* meter) {
    for_each_part(input.blob(), {piece.start, piece.length}, input.cancellation(),
                  [&](std::span<const std::uint8_t> bytes) {
                      write(bytes);
                      if (meter != nullptr) meter->written += bytes.size();
                  });
}

void NullOutput::write_body(const Input&, const Piece& piece, std::uint64_t, Meter* meter) {
    if (meter != nullptr) meter->written += piece.length;
}

void refuse_equal_names(const NameList& paths) {
    EqualNames names(paths.size(), EqualNames::Case::kCounts);
    const auto name_at = [&](std::size_t i) { return paths.rest(i); };
    for (std::size_t i = 0; i < paths.size(); ++i) {
        if (names.add(i, name_at) == i) continue;
        throw ArgumentError("the output template gives two pieces the name '" + paths[i] + "'");
    }
}

}  // namespace cleave
