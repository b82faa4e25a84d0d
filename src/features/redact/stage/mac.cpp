#include "features/redact/stage/mac.h"

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

}  // namespace cleave
