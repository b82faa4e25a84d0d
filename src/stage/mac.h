// HMAC-SHA-256 (RFC 2104, FIPS 180-4), computed by Nettle on states that lie in memory of ours. A state holds what was
// computed from the key, so it must lie in SecretMemory.
#pragma once

#include <nettle/hmac.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "memory/secret_memory.h"

namespace cleave {

using MacState = hmac_sha256_ctx;
constexpr std::size_t kMacSize = 32;

// Prepares a state for messages under the key.
void set_key(MacState& state, std::span<const std::uint8_t> key) noexcept;

// The MAC of the parts, joined. The state is ready for the next message afterwards.
void compute_mac(MacState& state, std::initializer_list<std::span<const std::uint8_t>> parts,
                 std::uint8_t* mac) noexcept;

// The MAC of the byte 0xFF, the label and the text, joined. No value that is UTF-8 has this MAC: none begins with 0xFF.
void compute_labelled_mac(MacState& state, std::string_view label, std::string_view text, std::uint8_t* mac) noexcept;

// The first `size` bytes of that MAC under a key, at most kMacSize, in hex.
std::string labelled_mac_hex(std::span<const std::uint8_t> key, std::string_view label, std::string_view text,
                             std::size_t size);

}  // namespace cleave
