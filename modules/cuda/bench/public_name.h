// The published example as a functor of names and visibilities. `John Doe` becomes `D John` if its visibility is
// exactly `public`, and `X X` otherwise. It fails closed: a name without a space, or with nothing before or after the
// first space, becomes `X X`, and so does a name whose visibility is null. A null name stays null.
//
// Apart from the visibility, it is the short-name operation of src/features/redact/stage, for staged values in
// four-byte words.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/rows_kernel.h"
#include "features/redact/stage/characters.h"

namespace cleave::cuda {

struct PublicName {
    static constexpr int kColumns = 2;
    static constexpr bool kMakesNulls = true;
    static constexpr bool kMakesNewNulls = false;
    static constexpr unsigned kUsualShare = 60;  // `L Anna` from `Anna Lind`; private rows produce less

    struct Measured {
        std::uint32_t size;
        std::uint32_t before;  // bytes before the first space; if 0, the row becomes `X X`

        __device__ __forceinline__ bool is_masked() const { return before == 0; }
    };

    template <class Output>
    __device__ __forceinline__ static void write_masked(Output& out) {
        out.put(0x582058, 3);  // X X
    }

    template <class Text>
    __device__ __forceinline__ static bool is_public(const Text& text) {
        // "publ" and "ic", little-endian. Everything is compared at once, because branches would take longer.
        const WordPair words = text.first_words();
        return ((text.size ^ 6U) | (words.low ^ 0x6C627570U) | ((words.high ^ 0x6369U) & 0xFFFFU)) == 0;
    }

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<2, Text>& row) const {
        if (!row.has_all() && !row.has(0)) return {kNullRow, 0};
        const Text& name = row.column[0];
        if (!is_public(row.column[1]) || (!row.has_all() && !row.has(1))) return {3, 0};
        const std::uint32_t space = name.find(' ');
        if (space == 0 || space + 1 >= name.size) return {3, 0};
        return {initial_size(name, space + 1) + 1 + space, space};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<2, Text>& row, Measured measured, Output out) const {
        if (measured.is_masked()) return write_masked(out);
        const Text& name = row.column[0];
        const std::uint32_t initial = measured.size - 1 - measured.before;
        const std::uint32_t letters = name.word(measured.before + 1);
        if (initial < 4) {
            const std::uint32_t space = 0x20U << initial * 8;
            out.put((letters & (space / 0x20U - 1)) | space, initial + 1);
        } else {
            out.put(letters, 4);
            out.put(0x20, 1);
        }
        out.copy(name, 0, measured.before);
    }

    // A row is at most as long as its name, or 3 bytes if the name is shorter.
    std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) const { return sizes[0] + 3 * rows; }

private:
    template <class Text>
    __device__ __forceinline__ static std::uint32_t initial_size(const Text& name, std::uint32_t at) {
        if (name.byte(at) < 0x80) return 1;
        return static_cast<std::uint32_t>(character_size(name.data() + at, name.data() + name.size));
    }
};

}  // namespace cleave::cuda
