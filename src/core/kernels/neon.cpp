// 64 bytes in four 16-byte registers. NEON is part of every AArch64, so this needs no flags. Carry-less multiplication
// is optional there, so it is not used.
#include <arm_neon.h>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Neon : AnyIsa {
    struct Block {
        uint8x16_t parts[4];
    };
    using Needle = uint8x16_t;

    static Needle needle(std::uint8_t byte) { return vdupq_n_u8(byte); }

    static Block load(const std::uint8_t* data) {
        return {{vld1q_u8(data), vld1q_u8(data + 16), vld1q_u8(data + 32), vld1q_u8(data + 48)}};
    }

    // NEON has no instruction that turns a comparison into a mask. So each equal byte keeps one bit, a different one
    // for each of eight neighbours, and three rounds of adding neighbours gather eight bytes into one. The bits are all
    // different, so no addition carries. After simdjson, include/simdjson/arm64/simd.h, to_bitmask().
    static uint8x8_t gathered(const Block& block, Needle needle) {
        const uint8x16_t bits = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
        uint8x16_t kept[4];
        for (int i = 0; i < 4; ++i) kept[i] = vandq_u8(vceqq_u8(block.parts[i], needle), bits);
        const uint8x16_t fours = vpaddq_u8(vpaddq_u8(kept[0], kept[1]), vpaddq_u8(kept[2], kept[3]));
        return vpadd_u8(vget_low_u8(fours), vget_high_u8(fours));
    }

    static std::uint64_t equal(const Block& block, Needle needle) {
        return vget_lane_u64(vreinterpret_u64_u8(gathered(block, needle)), 0);
    }

    // Stores the mask without moving it through a general-purpose register.
    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        vst1_u8(out, gathered(block, needle));
    }

    static std::uint64_t prefix_xor(std::uint64_t bits) { return prefix_xor_by_shifts(bits); }

    // Counts the bits in each byte, then adds up the counts.
    static std::uint64_t popcount(std::uint64_t bits) { return vaddv_u8(vcnt_u8(vcreate_u8(bits))); }
};

}  // namespace

extern constinit const Kernel kNeonKernel = make_kernel<Neon>("neon");

}  // namespace cleave
