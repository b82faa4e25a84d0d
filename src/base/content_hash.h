// The SHA-256 of a file's content (FIPS 180-4), computed by Nettle, which uses the processor's instructions for it.
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace cleave {

struct ContentDigest {
    std::uint64_t size = 0;  // in bytes
    std::string sha256;      // 64 hex digits, in lower case

    bool operator==(const ContentDigest&) const = default;
};

// For one thread at a time.
class ContentHash {
public:
    ContentHash() noexcept { ::nettle_sha256_init(&state_); }

    void add(std::span<const std::uint8_t> bytes) noexcept {
        ::nettle_sha256_update(&state_, bytes.size(), bytes.data());
        size_ += bytes.size();
    }

    // Call this once, after the last add(). Throws std::bad_alloc.
    ContentDigest digest() {
        std::array<std::uint8_t, SHA256_DIGEST_SIZE> hash;
        ::nettle_sha256_digest(&state_, hash.size(), hash.data());
        ContentDigest digest{size_, {}};
        for (const std::uint8_t byte : hash) {
            digest.sha256 += "0123456789abcdef"[byte >> 4U];
            digest.sha256 += "0123456789abcdef"[byte & 0xFU];
        }
        return digest;
    }

private:
    sha256_ctx state_;
    std::uint64_t size_ = 0;
};

}  // namespace cleave
