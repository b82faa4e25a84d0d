// The kernel for any 64-bit machine: 64 bytes in eight words. It also serves as the list of what an ISA must have,
// apart from what it inherits from AnyIsa (kernels/step.h) and may replace.
#include <cstring>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Scalar : AnyIsa {
    // 64 bytes of input.
    struct Block {
        std::uint64_t words[8];
    };
    // A byte to look for, in the form that `equal` takes.
    using Needle = std::uint64_t;

    static constexpr std::uint64_t kLowBits = 0x0101010101010101;
    static constexpr std::uint64_t kLowSeven = 0x7F7F7F7F7F7F7F7F;

    static Needle needle(std::uint8_t byte) { return kLowBits * byte; }

    static Block load(const std::uint8_t* data) {
        Block block;
        std::memcpy(block.words, data, sizeof block.words);
        return block;
    }

    // Bit i is set if byte i equals the needle. Bytes that differ from it get their high bit set without a carry into
    // the next byte; a multiplication then gathers the eight low bits in the top byte.
    static std::uint64_t equal(const Block& block, Needle needle) {
        std::uint64_t mask = 0;
        for (int i = 0; i < 8; ++i) {
            const std::uint64_t difference = block.words[i] ^ needle;
            const std::uint64_t nonzero = ((difference & kLowSeven) + kLowSeven) | difference;
            const std::uint64_t zero_bytes = (~nonzero >> 7) & kLowBits;
            mask |= (zero_bytes * 0x0102040810204080 >> 56) << (8 * i);
        }
        return mask;
    }

    // Stores the result of equal() at `out`, in whatever parts are cheapest.
    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const std::uint64_t mask = equal(block, needle);
        std::memcpy(out, &mask, sizeof mask);
    }

    // Bit i is the parity of bits 0 to i.
    static std::uint64_t prefix_xor(std::uint64_t bits) { return prefix_xor_by_shifts(bits); }

    static std::uint64_t popcount(std::uint64_t bits) { return popcount_by_adding(bits); }
};

}  // namespace

extern constinit const Kernel kScalarKernel = make_kernel<Scalar>("scalar");

}  // namespace cleave
