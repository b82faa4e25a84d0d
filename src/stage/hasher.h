// Computes tokens for one thread: HMAC-SHA-256 with the keys of a KeyRing. Operations cut and encode them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/secret_memory.h"
#include "stage/flat_program.h"
#include "stage/key_names.h"
#include "stage/value.h"

struct hmac_sha256_ctx;  // NOLINT(readability-identifier-naming): of Nettle

namespace cleave {

class KeyRing;

// One state for each use of a key, in secret memory of its own. A state holds both halves of HMAC, already keyed, so a
// value of up to 55 bytes costs two blocks of SHA-256.
class Hasher {
public:
    // For rules without keys.
    Hasher() = default;
    // Throws std::invalid_argument if a use names no key of the ring, and std::system_error if memory cannot be locked.
    // The ring is not used afterwards.
    Hasher(const KeyRing& ring, const KeyUses& uses);

    // Writes the 32 bytes of HMAC(key, value), or with a context of
    // HMAC(HMAC(key, 0xFF "cleave context 1" context), value). `use` is an index of uses().
    void token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept;
    // The same for the value with A-Z in lower case.
    void lower_token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept;

    // For a device. What it writes is secret.
    void copy_state(std::uint32_t use, FlatMacState& state) const noexcept;

private:
    static constexpr std::size_t kScratchSize = 256;

    SecretMemory memory_;  // the states, and then the scratch
    hmac_sha256_ctx* states_ = nullptr;
    std::span<std::uint8_t> scratch_;
};

}  // namespace cleave
