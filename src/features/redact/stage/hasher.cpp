#include "features/redact/stage/hasher.h"

#include <algorithm>
#include <cassert>
#include <memory>

#include "features/redact/stage/keys.h"
#include "features/redact/stage/mac.h"

namespace cleave {

static_assert(Hasher::kScratchSize >= kDerivationScratch + kMacSize);

Hasher::Hasher(const KeyRing& ring, const KeyUses& uses) {
    const std::size_t count = uses.uses().size();
    if (count == 0) return;
    memory_ = SecretMemory(count * sizeof(MacState) + kScratchSize);
    states_ = reinterpret_cast<MacState*>(memory_.bytes().data());
    scratch_ = memory_.bytes().subspan(count * sizeof(MacState), kScratchSize);
    for (std::size_t i = 0; i < count; ++i) {
        const KeyUses::Use& use = uses.uses()[i];
        MacState& state = *std::construct_at(states_ + i);
        const auto key = ring.keys().keys[ring.keys().index_of(use.key)].bytes();
        if (!use.operation.empty()) {
            const auto derived = scratch_.subspan(kDerivationScratch, kMacSize);
            derive_key(key, use.operation, use.context, scratch_.first(kDerivationScratch), derived);
            set_key(state, derived);
            continue;
        }
        set_key(state, key);
        if (use.context.empty()) continue;
        const auto derived = scratch_.first<kMacSize>();
        compute_labelled_mac(state, "cleave context 1", use.context, derived.data());
        set_key(state, derived);
    }
}

void Hasher::token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept {
    assert(states_ != nullptr);
    ::nettle_hmac_sha256_update(states_ + use, value.size, value.data);
    ::nettle_hmac_sha256_digest(states_ + use, kMacSize, digest);
}

void Hasher::token(std::uint32_t use, std::initializer_list<Value> parts, std::uint8_t* digest) noexcept {
    assert(states_ != nullptr);
    for (const Value& part : parts) ::nettle_hmac_sha256_update(states_ + use, part.size, part.data);
    ::nettle_hmac_sha256_digest(states_ + use, kMacSize, digest);
}

void Hasher::copy_state(std::uint32_t use, FlatMacState& state) const noexcept {
    std::copy_n(states_[use].inner.state, 8, state.inner);
    std::copy_n(states_[use].outer.state, 8, state.outer);
}

void Hasher::lower_token(std::uint32_t use, Value value, std::uint8_t* digest) noexcept {
    assert(states_ != nullptr);
    for (std::uint64_t done = 0; done < value.size;) {
        const std::uint64_t size = std::min<std::uint64_t>(value.size - done, scratch_.size());
        for (std::uint64_t i = 0; i < size; ++i) {
            const std::uint8_t byte = value.data[done + i];
            scratch_[i] = byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte | 0x20) : byte;
        }
        ::nettle_hmac_sha256_update(states_ + use, size, scratch_.data());
        done += size;
    }
    ::nettle_hmac_sha256_digest(states_ + use, kMacSize, digest);
}

}  // namespace cleave
