#include "write/piece_target.h"

#include <algorithm>

namespace cleave {

void PieceOutput::write_body(const Input& input, const Piece& piece, std::uint64_t, Meter* meter) {
    constexpr std::uint64_t kPartSize = std::uint64_t{1} << 20;
    const std::uint64_t end = piece.start + piece.length;
    for (std::uint64_t offset = piece.start; offset < end;) {
        if (input.cancellation() != nullptr) input.cancellation()->throw_if_requested();
        const std::uint64_t size = std::min(end - offset, kPartSize);
        write(input.bytes().subspan(offset, size));
        if (meter != nullptr) meter->written += size;
        offset += size;
    }
}

}  // namespace cleave
