// CRC32C of what is written of a piece. Knows no files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "write/piece_target.h"

namespace cleave {

// The CRC of Castagnoli, as in iSCSI (RFC 3720, appendix B.4): that of "123456789" is E3069283.
class Crc32c {
public:
    // The next bytes. The value does not depend on how the bytes are parted.
    void add(std::span<const std::uint8_t> bytes) noexcept;
    // Of all bytes so far.
    std::uint32_t value() const noexcept;

private:
    std::uint32_t remainder_ = 0xFFFFFFFF;
};

// What is written goes to `output`, and finish() adds the CRC32C of it to the result. A body that `output` would share
// with the input is read for that. Throws as `output`.
std::unique_ptr<PieceOutput> with_checksum(std::unique_ptr<PieceOutput> output);

// Drops what is written. finish() returns the CRC32C of it, and nothing else. Throws Cancelled.
std::unique_ptr<PieceOutput> make_checksum_only();

}  // namespace cleave
