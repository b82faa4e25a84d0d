#include "loop2021.h"

#include <immintrin.h>

namespace cleave {
namespace {

// 64-byte blocks contain both quotes and newlines too often: with 60-byte records, they are less than half as fast (AMD
// EPYC family 25, 2 GB, 2026-11).
constexpr std::size_t kBlockSize = 16;
constexpr std::uint8_t kEscape = '\\';

std::uint32_t equal_mask(__m128i block, __m128i byte) {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(block, byte)));
}

std::uint32_t popcount(std::uint32_t mask) { return static_cast<std::uint32_t>(_mm_popcnt_u32(mask)); }

template <bool kHasEscape>
struct Count {
    std::uint64_t outside = 0;
    std::uint64_t all = 0;
    std::uint64_t inside = 0;  // 0 or 1: the parity of the quotes so far
    bool is_escaped = false;   // the next byte

    void add_newlines(std::uint64_t newlines) {
        outside += newlines & (inside - 1);
        all += newlines;
    }
    void add_bytes(const std::uint8_t* data, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) {
            if (kHasEscape && is_escaped) {
                is_escaped = false;
            } else if (kHasEscape && data[i] == kEscape) {
                is_escaped = true;
            } else if (data[i] == '"') {
                inside ^= 1;
            } else if (data[i] == '\n') {
                add_newlines(1);
            }
        }
    }
};

template <bool kHasEscape>
NewlineCounts count_by_blocks(const std::uint8_t* data, std::size_t size) {
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i newline = _mm_set1_epi8('\n');
    const __m128i escape = _mm_set1_epi8(kEscape);
    Count<kHasEscape> count;
    std::size_t i = 0;
    for (; i + kBlockSize <= size; i += kBlockSize) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i));
        const std::uint32_t quotes = equal_mask(block, quote);
        const std::uint32_t newlines = equal_mask(block, newline);
        // NOLINTNEXTLINE(bugprone-branch-clone): the cases stand in the order in which the loop tells them apart
        if (kHasEscape && (count.is_escaped || equal_mask(block, escape) != 0)) {
            count.add_bytes(data + i, kBlockSize);
        } else if (quotes == 0) {
            count.add_newlines(popcount(newlines));
        } else if (newlines == 0) {
            count.inside ^= popcount(quotes) & 1;
        } else {
            count.add_bytes(data + i, kBlockSize);
        }
    }
    count.add_bytes(data + i, size - i);
    return {count.outside, count.all, count.inside != 0};
}

template <bool kHasEscape>
std::uint64_t count_by_states(const std::uint8_t* data, std::size_t size) {
    enum class State : std::uint8_t { kOutside, kInside, kEscapedOutside, kEscapedInside } state = State::kOutside;
    std::uint64_t newlines = 0;
    for (std::size_t i = 0; i < size; ++i) {
        const std::uint8_t byte = data[i];
        switch (state) {
            case State::kOutside:
                if (byte == '"') state = State::kInside;
                if (kHasEscape && byte == kEscape) state = State::kEscapedOutside;
                newlines += byte == '\n' ? 1 : 0;
                break;
            case State::kInside:
                if (byte == '"') state = State::kOutside;
                if (kHasEscape && byte == kEscape) state = State::kEscapedInside;
                break;
            case State::kEscapedOutside: state = State::kOutside; break;
            case State::kEscapedInside: state = State::kInside; break;
        }
    }
    return newlines;
}

template <bool kHasEscape>
std::uint64_t count_by_nested_loops(const std::uint8_t* data, std::size_t size) {
    std::uint64_t newlines = 0;
    for (std::size_t i = 0; i < size; ++i) {
        if (data[i] == '\n') {
            ++newlines;
        } else if (kHasEscape && data[i] == kEscape) {
            ++i;
        } else if (data[i] == '"') {
            for (++i; i < size && data[i] != '"'; ++i) {
                if (kHasEscape && data[i] == kEscape) ++i;
            }
        }
    }
    return newlines;
}

}  // namespace

NewlineCounts count_newlines_2021(const std::uint8_t* data, std::size_t size, bool has_escape) noexcept {
    return has_escape ? count_by_blocks<true>(data, size) : count_by_blocks<false>(data, size);
}

std::uint64_t count_by_states_2021(const std::uint8_t* data, std::size_t size, bool has_escape) noexcept {
    return has_escape ? count_by_states<true>(data, size) : count_by_states<false>(data, size);
}

std::uint64_t count_by_nested_loops_2021(const std::uint8_t* data, std::size_t size, bool has_escape) noexcept {
    return has_escape ? count_by_nested_loops<true>(data, size) : count_by_nested_loops<false>(data, size);
}

}  // namespace cleave
