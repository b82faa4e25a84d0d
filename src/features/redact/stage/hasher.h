// Computes tokens for one thread: HMAC-SHA-256 with the keys of a KeyRing. Operations truncate and encode them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/value.h"
#include "rows/memory/secret_memory.h"

struct hmac_sha256_ctx;  // NOLINT(readability-identifier-naming): of Nettle

namespace cleave {

class KeyRing;

// Keeps one state for each use of a key, in its own secret memory. A state holds both halves of HMAC, already keyed, so
// a value of up to 55 bytes costs two SHA-256 blocks.
class Hasher {
public:
    // For rules without keys.
    Hasher() = default;
    // Throws ArgumentError if a use names a key that is not in the ring, and SystemError if memory cannot
    // be locked. The ring is not used afterwards.
    Hasher(const KeyRing& ring, const KeyUses& uses);

    // Writes the 32 bytes of HMAC(key of the use, value). `use` is an index into KeyUses::uses(). Its key is
    //   for a use with an operation   derived: see derive_key()
    //   otherwise (version 1)         the key itself or, with a context, HMAC(key, 0xFF "cleave context 1" context)
    void token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept;
    // Like token(), but for the value with A-Z converted to lower case.
    void lower_token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept;

    // Like token(), but for the concatenated parts.
    void token(std::uint32_t use, std::initializer_list<Value> parts, std::uint8_t* digest) noexcept;

    // Copies the state for a device. The copy is secret.
    void copy_state(std::uint32_t use, FlatMacState& state) const noexcept;

    static constexpr std::size_t kScratchSize = 512;  // in bytes, for lower_token() and for deriving keys

private:
    SecretMemory memory_;  // the states, followed by the scratch buffer
    hmac_sha256_ctx* states_ = nullptr;
    std::span<std::uint8_t> scratch_;
};

}  // namespace cleave
