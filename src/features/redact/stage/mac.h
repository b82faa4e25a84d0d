// HMAC-SHA-256 (RFC 2104, FIPS 180-4), computed by Nettle; the states are in our own memory. A state holds values
// computed from the key, so it must be in SecretMemory.
#pragma once

#include <nettle/hmac.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "rows/memory/secret_memory.h"

namespace cleave {

using MacState = hmac_sha256_ctx;
constexpr std::size_t kMacSize = 32;

// Prepares a state for messages under the key.
void set_key(MacState& state, std::span<const std::uint8_t> key) noexcept;

// Computes the MAC of the concatenated parts. Afterwards the state is ready for the next message.
void compute_mac(MacState& state, std::initializer_list<std::span<const std::uint8_t>> parts,
                 std::uint8_t* mac) noexcept;

// Computes the MAC of the byte 0xFF, the label and the text, concatenated. No UTF-8 value has this MAC, because no such
// value begins with 0xFF.
void compute_labelled_mac(MacState& state, std::string_view label, std::string_view text, std::uint8_t* mac) noexcept;

// The first `size` bytes, at most kMacSize, of that MAC under a key, in hex.
std::string labelled_mac_hex(std::span<const std::uint8_t> key, std::string_view label, std::string_view text,
                             std::size_t size);

}  // namespace cleave
