// memcpy(), memmove(), memset(), memchr(), memcmp() and bcmp() for the portable command, with 16-byte vectors, which
// every x86-64 and arm64 processor has. musl's versions work a word at a time, and compiler-rt's bcmp() a byte at a
// time: with them, selecting columns takes twice as long.
//
// Short runs need no loop: a run of 16 to 32 bytes consists of its first vector and its last, which may overlap, a run
// up to 64 of its first two and last two, and so on. All of such a run is loaded before anything is stored, so the same
// code also handles overlapping source and destination. Longer runs are moved in steps of 64 bytes, starting from the
// end at which no store overwrites bytes that have yet to be read.
//
// The functions are declared as in the C library. Compile with -fno-builtin; otherwise the compiler may turn a loop
// here into a call to the very function that contains it.
#include <cstddef>
#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#else
#include <arm_neon.h>
#endif

#ifdef CLEAVE_MEMORY_FUNCTIONS_TEST
#define CLEAVE_MEMORY_FUNCTION(name) portable_##name
#else
#define CLEAVE_MEMORY_FUNCTION(name) name
#endif

namespace {

constexpr std::size_t kVector = 16;
constexpr std::size_t kStep = 4 * kVector;

#ifdef __x86_64__
using Vector = __m128i;
inline Vector load(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
inline void store(std::uint8_t* to, Vector vector) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), vector); }
inline Vector filled(std::uint8_t byte) { return _mm_set1_epi8(static_cast<char>(byte)); }
inline Vector equal(Vector a, Vector b) { return _mm_cmpeq_epi8(a, b); }
inline Vector either(Vector a, Vector b) { return _mm_or_si128(a, b); }
inline Vector both(Vector a, Vector b) { return _mm_and_si128(a, b); }
// kBits bits for each byte of the result of equal(), with the first byte in the lowest bits.
constexpr unsigned kBits = 1;
inline std::uint64_t mask_of(Vector found) { return static_cast<unsigned>(_mm_movemask_epi8(found)); }
constexpr std::uint64_t kFull = 0xFFFF;
#else
using Vector = uint8x16_t;
inline Vector load(const std::uint8_t* from) { return vld1q_u8(from); }
inline void store(std::uint8_t* to, Vector vector) { vst1q_u8(to, vector); }
inline Vector filled(std::uint8_t byte) { return vdupq_n_u8(byte); }
inline Vector equal(Vector a, Vector b) { return vceqq_u8(a, b); }
inline Vector either(Vector a, Vector b) { return vorrq_u8(a, b); }
inline Vector both(Vector a, Vector b) { return vandq_u8(a, b); }
constexpr unsigned kBits = 4;
inline std::uint64_t mask_of(Vector found) {
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
}
constexpr std::uint64_t kFull = ~std::uint64_t{0};
#endif

inline unsigned first_of(std::uint64_t mask) { return static_cast<unsigned>(__builtin_ctzll(mask)) / kBits; }

template <class Word>
inline Word load_word(const std::uint8_t* from) {
    Word word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
}

template <class Word>
inline void move_ends(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
    const auto first = load_word<Word>(from);
    const auto last = load_word<Word>(from + size - sizeof(Word));
    __builtin_memcpy(to, &first, sizeof first);
    __builtin_memcpy(to + size - sizeof last, &last, sizeof last);
}

// Moves the first kCount vectors and the last kCount.
template <std::size_t kCount>
inline void move_vectors(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
    Vector first[kCount];
    Vector last[kCount];
    const std::size_t behind = size - kCount * kVector;
    for (std::size_t i = 0; i < kCount; ++i) first[i] = load(from + i * kVector);
    for (std::size_t i = 0; i < kCount; ++i) last[i] = load(from + behind + i * kVector);
    for (std::size_t i = 0; i < kCount; ++i) store(to + i * kVector, first[i]);
    for (std::size_t i = 0; i < kCount; ++i) store(to + behind + i * kVector, last[i]);
}

struct Step {
    Vector a, b, c, d;
};
inline Step load_step(const std::uint8_t* from) {
    return {load(from), load(from + kVector), load(from + 2 * kVector), load(from + 3 * kVector)};
}
inline void store_step(std::uint8_t* to, const Step& step) {
    store(to, step.a);
    store(to + kVector, step.b);
    store(to + 2 * kVector, step.c);
    store(to + 3 * kVector, step.d);
}

inline void move(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
    if (size <= kVector) {
        if (size >= 8) return move_ends<std::uint64_t>(to, from, size);
        if (size >= 4) return move_ends<std::uint32_t>(to, from, size);
        if (size >= 2) return move_ends<std::uint16_t>(to, from, size);
        if (size == 1) *to = *from;
        return;
    }
    if (size <= 2 * kVector) return move_vectors<1>(to, from, size);
    if (size <= 4 * kVector) return move_vectors<2>(to, from, size);
    if (size <= 8 * kVector) return move_vectors<4>(to, from, size);
    // Moves whole steps, then the rest at the other end, which is loaded before any step is stored.
    if (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from) >= size) {
        const Step last = load_step(from + size - kStep);
        for (std::size_t done = 0; done < size - kStep; done += kStep) store_step(to + done, load_step(from + done));
        store_step(to + size - kStep, last);
    } else {
        const Step first = load_step(from);
        for (std::size_t left = size; left > kStep; left -= kStep) {
            store_step(to + left - kStep, load_step(from + left - kStep));
        }
        store_step(to, first);
    }
}

// The index of the first byte that differs; `size` if none does.
inline std::size_t first_difference(const std::uint8_t* a, const std::uint8_t* b, std::size_t size) {
    std::size_t at = 0;
    for (; at + kStep <= size; at += kStep) {
        const Step one = load_step(a + at);
        const Step other = load_step(b + at);
        const Vector all = both(both(equal(one.a, other.a), equal(one.b, other.b)),
                                both(equal(one.c, other.c), equal(one.d, other.d)));
        if (mask_of(all) != kFull) break;
    }
    for (; at + kVector <= size; at += kVector) {
        const std::uint64_t mask = mask_of(equal(load(a + at), load(b + at)));
        if (mask != kFull) return at + first_of(~mask);
    }
    while (at < size && a[at] == b[at]) ++at;
    return at;
}

}  // namespace

extern "C" {

void* CLEAVE_MEMORY_FUNCTION(memmove)(void* to, const void* from, std::size_t size) {
    move(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), size);
    return to;
}

void* CLEAVE_MEMORY_FUNCTION(memcpy)(void* to, const void* from, std::size_t size) {
    move(static_cast<std::uint8_t*>(to), static_cast<const std::uint8_t*>(from), size);
    return to;
}

void* CLEAVE_MEMORY_FUNCTION(memset)(void* to, int byte, std::size_t size) {
    auto* const out = static_cast<std::uint8_t*>(to);
    if (size < kVector) {
        for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(byte);
        return to;
    }
    const Vector vector = filled(static_cast<std::uint8_t>(byte));
    for (std::size_t done = 0; done < size - kVector; done += kVector) store(out + done, vector);
    store(out + size - kVector, vector);
    return to;
}

void* CLEAVE_MEMORY_FUNCTION(memchr)(const void* from, int byte, std::size_t size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(from);
    const Vector wanted = filled(static_cast<std::uint8_t>(byte));
    std::size_t at = 0;
    for (; size - at >= kStep; at += kStep) {
        const Step step = load_step(bytes + at);
        const Vector any = either(either(equal(step.a, wanted), equal(step.b, wanted)),
                                  either(equal(step.c, wanted), equal(step.d, wanted)));
        if (mask_of(any) != 0) break;
    }
    for (; size - at >= kVector; at += kVector) {
        const std::uint64_t mask = mask_of(equal(load(bytes + at), wanted));
        if (mask != 0) return const_cast<std::uint8_t*>(bytes) + at + first_of(mask);
    }
    for (; at < size; ++at) {
        if (bytes[at] == static_cast<std::uint8_t>(byte)) return const_cast<std::uint8_t*>(bytes) + at;
    }
    return nullptr;
}

int CLEAVE_MEMORY_FUNCTION(memcmp)(const void* one, const void* other, std::size_t size) {
    const auto* const a = static_cast<const std::uint8_t*>(one);
    const auto* const b = static_cast<const std::uint8_t*>(other);
    const std::size_t at = first_difference(a, b, size);
    return at == size ? 0 : int{a[at]} - int{b[at]};
}

int CLEAVE_MEMORY_FUNCTION(bcmp)(const void* one, const void* other, std::size_t size) {
    return CLEAVE_MEMORY_FUNCTION(memcmp)(one, other, size);
}
}
