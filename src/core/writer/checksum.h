// Computes the CRC32C of the bytes of a piece. Knows nothing about files.
#pragma once

#include <memory>

#include "core/writer/piece_target.h"

namespace cleave {

// Writes to `output`; finish() adds the CRC32C of all bytes to the result. A body that `output` shares with the input
// is read as well. Throws what `output` throws.
std::unique_ptr<PieceOutput> with_checksum(std::unique_ptr<PieceOutput> output);

// Discards all bytes; finish() returns only their CRC32C. Throws Cancelled.
std::unique_ptr<PieceOutput> make_checksum_only();

}  // namespace cleave
