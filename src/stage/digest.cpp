#include "stage/digest.h"

#include <nettle/sha2.h>

#include <array>
#include <cstdint>

#include "stage/encodings.h"

namespace cleave {

std::string sha256_hex(std::string_view text) {
    sha256_ctx state;
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
    ::nettle_sha256_init(&state);
    ::nettle_sha256_update(&state, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
    ::nettle_sha256_digest(&state, digest.size(), digest.data());
    std::string hex(hex_size(digest.size()), '\0');
    write_hex(digest.data(), digest.size(), reinterpret_cast<std::uint8_t*>(hex.data()));
    return hex;
}

}  // namespace cleave
