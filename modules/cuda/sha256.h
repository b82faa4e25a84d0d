// HMAC-SHA-256 on the device (FIPS 180-4, RFC 2104), starting from states that are already keyed. No library lets a
// single thread hash a value in place, without copying it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/value.h"

namespace cleave::cuda {

// FIPS 180-4, section 4.2.2.
static __constant__ const std::uint32_t kSha256Constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ __forceinline__ std::uint32_t rotated(std::uint32_t word, unsigned bits) {
    return __funnelshift_r(word, word, bits);
}

// Hashes a 16-word block. The first byte of each word is its highest. Overwrites `words`.
__device__ inline void hash_block(std::uint32_t (&state)[8], std::uint32_t (&words)[16]) {
    std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    std::uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int i = 0; i < 64; ++i) {
        if (i >= 16) {
            const std::uint32_t early = words[(i + 1) % 16];
            const std::uint32_t late = words[(i + 14) % 16];
            words[i % 16] += (rotated(early, 7) ^ rotated(early, 18) ^ early >> 3) + words[(i + 9) % 16] +
                             (rotated(late, 17) ^ rotated(late, 19) ^ late >> 10);
        }
        const std::uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) +
                                    kSha256Constants[i] + words[i % 16];
        const std::uint32_t second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

// The hasher for operations; see features/redact/stage/operation.h.
struct DeviceHasher {
    const FlatMacState* states;

    __device__ void token(std::uint32_t use, Value value, std::uint8_t* digest) const {
        mac<false>(states[use], value, digest);
    }
    __device__ void lower_token(std::uint32_t use, Value value, std::uint8_t* digest) const {
        mac<true>(states[use], value, digest);
    }

private:
    template <bool kLowers>
    __device__ static std::uint32_t byte_at(Value value, std::uint64_t i) {
        const std::uint32_t byte = value.data[i];
        return kLowers && byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
    }

    // The length includes the block with the key, which was hashed before.
    template <bool kLowers>
    __device__ static void mac(const FlatMacState& keyed, Value value, std::uint8_t* digest) {
        std::uint32_t state[8];
        std::uint32_t words[16];
        for (int i = 0; i < 8; ++i) state[i] = keyed.inner[i];
        const std::uint64_t bits = (64 + value.size) * 8;
        // The value, a byte 0x80, zeros, and the length in the last 8 bytes of a block.
        const std::uint64_t blocks = (value.size + 9 + 63) / 64;
        for (std::uint64_t block = 0; block < blocks; ++block) {
#pragma unroll
            for (int i = 0; i < 16; ++i) {
                std::uint32_t word = 0;
#pragma unroll
                for (unsigned k = 0; k < 4; ++k) {
                    const std::uint64_t at = block * 64 + static_cast<unsigned>(i) * 4 + k;
                    const std::uint32_t byte = at < value.size    ? byte_at<kLowers>(value, at)
                                               : at == value.size ? 0x80U
                                                                  : 0U;
                    word = word << 8 | byte;
                }
                words[i] = word;
            }
            if (block + 1 == blocks) {
                words[14] = static_cast<std::uint32_t>(bits >> 32);
                words[15] = static_cast<std::uint32_t>(bits);
            }
            hash_block(state, words);
        }
        for (int i = 0; i < 8; ++i) {
            words[i] = state[i];
            state[i] = keyed.outer[i];
            words[8 + i] = 0;
        }
        words[8] = 0x80000000U;
        words[15] = (64 + 32) * 8;
        hash_block(state, words);
        for (int i = 0; i < 8; ++i) {
            for (int k = 0; k < 4; ++k) digest[4 * i + k] = static_cast<std::uint8_t>(state[i] >> (24 - 8 * k));
        }
    }
};

}  // namespace cleave::cuda
