#include "write/piece_target.h"

#include "cleave/error.h"
#include "io/copy.h"

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

}  // namespace cleave
