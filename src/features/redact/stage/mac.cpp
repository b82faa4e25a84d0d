#include "features/redact/stage/mac.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>

#include "base/text_bytes.h"
#include "features/redact/stage/encodings.h"

namespace cleave {

void set_key(MacState& state, std::span<const std::uint8_t> key) noexcept {
    ::nettle_hmac_sha256_set_key(&state, key.size(), key.data());
    // Nettle leaves the key, combined with HMAC's pads, on the stack.
    wipe_stack();
}

void compute_mac(MacState& state, std::initializer_list<std::span<const std::uint8_t>> parts,
                 std::uint8_t* mac) noexcept {
    for (const auto part : parts) ::nettle_hmac_sha256_update(&state, part.size(), part.data());
    ::nettle_hmac_sha256_digest(&state, kMacSize, mac);
}

void compute_labelled_mac(MacState& state, std::string_view label, std::string_view text, std::uint8_t* mac) noexcept {
    constexpr std::array<std::uint8_t, 1> kPrefix{0xFF};
    compute_mac(state, {kPrefix, bytes_of(label), bytes_of(text)}, mac);
    wipe_stack();
}

std::string labelled_mac_hex(std::span<const std::uint8_t> key, std::string_view label, std::string_view text,
                             std::size_t size) {
    SecretMemory memory(sizeof(MacState));
    MacState& state = *std::construct_at(reinterpret_cast<MacState*>(memory.bytes().data()));
    set_key(state, key);
    std::array<std::uint8_t, kMacSize> mac;
    compute_labelled_mac(state, label, text, mac.data());
    std::string digits(hex_size(size), '\0');
    write_hex(mac.data(), size, reinterpret_cast<std::uint8_t*>(digits.data()));
    return digits;
}

// T(1) = HMAC(PRK, info 01), T(2) = HMAC(PRK, T(1) info 02), where PRK = HMAC(salt, key) and the salt is zeros.
void derive_bytes(std::span<const std::uint8_t> key, const DerivationInfo& info, std::span<std::uint8_t> scratch,
                  std::span<std::uint8_t> out) noexcept {
    assert(scratch.size() >= kDerivationScratch && out.size() <= 2 * kMacSize);
    constexpr std::array<std::uint8_t, kMacSize> kNoSalt{};
    MacState& state = *std::construct_at(reinterpret_cast<MacState*>(scratch.data()));
    const auto made = scratch.subspan(sizeof(MacState), kMacSize);
    set_key(state, kNoSalt);
    compute_mac(state, {key}, made.data());
    set_key(state, made);
    std::span<const std::uint8_t> before;
    for (std::uint8_t block = 1; !out.empty(); ++block) {
        compute_mac(state, {before, bytes_of(info[0]), bytes_of(info[1]), bytes_of(info[2]), {&block, 1}}, made.data());
        const std::size_t size = std::min(out.size(), made.size());
        std::ranges::copy(made.first(size), out.begin());
        out = out.subspan(size);
        before = made;
    }
    wipe_stack();
}

void derive_key(std::span<const std::uint8_t> key, std::string_view label, std::string_view context,
                std::span<std::uint8_t> scratch, std::span<std::uint8_t> out) noexcept {
    derive_bytes(key, {label, std::string_view("\0", 1), context}, scratch, out);
}

std::string derived_mac_hex(std::span<const std::uint8_t> key, std::string_view label, std::string_view text) {
    SecretMemory memory(kDerivationScratch + kMacSize);
    const auto scratch = memory.bytes().first(kDerivationScratch);
    const auto derived = memory.bytes().subspan(kDerivationScratch, kMacSize);
    derive_key(key, label, "", scratch, derived);
    MacState& state = *std::construct_at(reinterpret_cast<MacState*>(scratch.data()));
    set_key(state, derived);
    std::array<std::uint8_t, kMacSize> mac;
    compute_mac(state, {bytes_of(text)}, mac.data());
    wipe_stack();
    std::string digits(hex_size(mac.size()), '\0');
    write_hex(mac.data(), mac.size(), reinterpret_cast<std::uint8_t*>(digits.data()));
    return digits;
}

}  // namespace cleave
