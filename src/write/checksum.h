// The CRC32C of the bytes of a piece. Knows no files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "write/piece_target.h"

namespace cleave {

// The CRC of Castagnoli, as in iSCSI (RFC 3720, appendix B.4): the CRC of "123456789" is E3069283.
class Crc32c {
public:
    // The next bytes. The value does not depend on how the bytes are divided into calls.
    void add(std::span<const std::uint8_t> bytes) noexcept;
    // Of all bytes so far.
    std::uint32_t value() const noexcept;

private:
    std::uint32_t remainder_ = 0xFFFFFFFF;
};

// Writes to `output`; finish() adds the CRC32C of all bytes to the result. A body that `output` shares with the input
// is read too. Throws as `output`.
std::unique_ptr<PieceOutput> with_checksum(std::unique_ptr<PieceOutput> output);

// Discards all bytes; finish() returns their CRC32C, and nothing else. Throws Cancelled.
std::unique_ptr<PieceOutput> make_checksum_only();

}  // namespace cleave
