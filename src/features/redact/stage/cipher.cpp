#include "features/redact/stage/cipher.h"

#include <nettle/siv-cmac.h>

#include <array>
#include <memory>

#include "base/text_bytes.h"
#include "features/redact/stage/keys.h"
#include "features/redact/stage/mac.h"

namespace cleave {
namespace {

constexpr std::array<std::uint8_t, 1> kNonce{1};
constexpr std::size_t kKeySize = SIV_CMAC_AES256_KEY_SIZE;
static_assert(kKeySize == kMaxDerivedSize && Cipher::kOverhead == SIV_DIGEST_SIZE);

}  // namespace

Cipher::Cipher(const KeyRing& ring, const KeyUses& uses) {
    const std::size_t count = uses.ciphers().size();
    if (count == 0) return;
    const std::size_t size_of_states = count * sizeof(siv_cmac_aes256_ctx);
    memory_ = SecretMemory(size_of_states + kDerivationScratch + kKeySize);
    auto* const states = reinterpret_cast<siv_cmac_aes256_ctx*>(memory_.bytes().data());
    const auto scratch = memory_.bytes().subspan(size_of_states, kDerivationScratch);
    const auto derived = memory_.bytes().subspan(size_of_states + kDerivationScratch, kKeySize);
    for (std::size_t i = 0; i < count; ++i) {
        const KeyUses::Use& use = uses.ciphers()[i];
        derive_key(ring.keys().keys[ring.keys().index_of(use.key)].bytes(), use.operation, use.context, scratch,
                   derived);
        ::siv_cmac_aes256_set_key(std::construct_at(states + i), derived.data());
        contexts_.push_back(use.context);
    }
    states_ = states;
    wipe_stack();
}

void Cipher::seal(std::uint32_t use, Value value, std::uint8_t* out) const noexcept {
    const std::string& context = contexts_[use];
    ::siv_cmac_aes256_encrypt_message(states_ + use, kNonce.size(), kNonce.data(), context.size(),
                                      bytes_of(context).data(), value.size + kOverhead, out, value.data);
}

bool Cipher::open(std::uint32_t use, Value sealed, std::uint8_t* out) const noexcept {
    if (sealed.size < kOverhead) return false;
    const std::string& context = contexts_[use];
    return ::siv_cmac_aes256_decrypt_message(states_ + use, kNonce.size(), kNonce.data(), context.size(),
                                             bytes_of(context).data(), sealed.size - kOverhead, out, sealed.data) == 1;
}

}  // namespace cleave
