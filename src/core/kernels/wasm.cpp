// 64 bytes in four 16-byte vectors of WebAssembly. A module either contains vector instructions or does not, and cannot
// ask for them, so this file is only for modules that are compiled with -msimd128.
#include <wasm_simd128.h>

#include <cstring>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Wasm : AnyIsa {
    struct Block {
        v128_t parts[4];
    };
    using Needle = v128_t;

    static Needle needle(std::uint8_t byte) { return wasm_i8x16_splat(static_cast<std::int8_t>(byte)); }

    static Block load(const std::uint8_t* data) {
        return {
            {wasm_v128_load(data), wasm_v128_load(data + 16), wasm_v128_load(data + 32), wasm_v128_load(data + 48)}};
    }

    static std::uint64_t equal(const Block& block, Needle needle) {
        std::uint64_t mask = 0;
        for (int i = 0; i < 4; ++i) {
            mask |= std::uint64_t{wasm_i8x16_bitmask(wasm_i8x16_eq(block.parts[i], needle))} << (16 * i);
        }
        return mask;
    }

    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const std::uint64_t mask = equal(block, needle);
        std::memcpy(out, &mask, sizeof mask);
    }

    // WebAssembly has no carry-less multiplication.
    static std::uint64_t prefix_xor(std::uint64_t bits) { return prefix_xor_by_shifts(bits); }

    static std::uint64_t popcount(std::uint64_t bits) { return static_cast<std::uint64_t>(__builtin_popcountll(bits)); }
};

}  // namespace

extern constinit const Kernel kWasmKernel = make_kernel<Wasm>("wasm");

}  // namespace cleave
