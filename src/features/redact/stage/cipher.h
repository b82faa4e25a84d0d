// Reversible tokens for one thread: AES-SIV (RFC 5297) with the keys of a KeyRing. Equal values have equal tokens under
// one key and context, and a token that was changed is noticed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "features/redact/stage/key_names.h"
#include "features/redact/stage/value.h"
#include "rows/memory/secret_memory.h"

struct siv_cmac_aes256_ctx;  // NOLINT(readability-identifier-naming): of Nettle

namespace cleave {

class KeyRing;

// Keeps one state for each use of a key as a cipher. The key is derived with the label "cleave 2 encrypt" and the
// context; see stage/mac.h. S2V gets three strings: the context, the byte 0x01 (Nettle requires a nonce),
// and the value.
class Cipher {
public:
    static constexpr std::uint64_t kOverhead = 16;  // the synthetic initialisation vector

    // For rules without ciphers.
    Cipher() = default;
    // Throws ArgumentError if a use names a key that is not in the ring, and SystemError if memory cannot be locked.
    // The ring is not used afterwards.
    Cipher(const KeyRing& ring, const KeyUses& uses);

    // Writes value.size + kOverhead bytes. `use` is an index into KeyUses::ciphers(). The output must not overlap the
    // value.
    void seal(std::uint32_t use, Value value, std::uint8_t* out) const noexcept;

    // Writes sealed.size - kOverhead bytes. Returns false if the bytes were not sealed in this use; then what was
    // written is meaningless.
    bool open(std::uint32_t use, Value sealed, std::uint8_t* out) const noexcept;

private:
    SecretMemory memory_;
    const siv_cmac_aes256_ctx* states_ = nullptr;
    std::vector<std::string> contexts_;
};

}  // namespace cleave
