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

// Keys derived from keys: HKDF with SHA-256 (RFC 5869), without a salt. Each operation has a key of its own, so what
// one operation writes says nothing about what another would write.

constexpr std::size_t kDerivationScratch = sizeof(MacState) + kMacSize;
constexpr std::size_t kMaxDerivedSize = 2 * kMacSize;

// The parts of HKDF's `info`, which are concatenated.
using DerivationInfo = std::array<std::string_view, 3>;

// Fills `out`, of at most kMaxDerivedSize bytes. `scratch` is secret memory of at least kDerivationScratch bytes,
// aligned for a MacState.
void derive_bytes(std::span<const std::uint8_t> key, const DerivationInfo& info, std::span<std::uint8_t> scratch,
                  std::span<std::uint8_t> out) noexcept;

// The key of an operation. `label` is "cleave 2 OPERATION"; the info is the label, a NUL byte and the context.
void derive_key(std::span<const std::uint8_t> key, std::string_view label, std::string_view context,
                std::span<std::uint8_t> scratch, std::span<std::uint8_t> out) noexcept;

// The HMAC-SHA-256 of the text, in hex, under the key that derive_key() derives for the label, without a context.
// Throws SystemError if memory cannot be locked.
std::string derived_mac_hex(std::span<const std::uint8_t> key, std::string_view label, std::string_view text);

}  // namespace cleave
