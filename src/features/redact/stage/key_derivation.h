// Keys derived from keys: HKDF with SHA-256 (RFC 5869), without a salt. Each operation has a key of its own, so what
// one operation writes says nothing about what another would write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "features/redact/stage/mac.h"

namespace cleave {

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
