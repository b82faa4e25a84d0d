// The memory functions of the portable command, under other names, compared with the C library's. The memory that they
// work on is bounded by pages that cannot be read or written.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

extern "C" {
void* portable_memcpy(void* to, const void* from, std::size_t size);
void* portable_memmove(void* to, const void* from, std::size_t size);
void* portable_memset(void* to, int byte, std::size_t size);
void* portable_memchr(const void* from, int byte, std::size_t size);
int portable_memcmp(const void* one, const void* other, std::size_t size);
int portable_bcmp(const void* one, const void* other, std::size_t size);
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kRoom = 2 * kPage;

// Memory between two inaccessible pages, initially random.
class Fenced {
public:
    explicit Fenced(unsigned seed) {
        void* const all = ::mmap(nullptr, kRoom + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        all_ = static_cast<std::uint8_t*>(all);
        if (all == MAP_FAILED || ::mprotect(begin(), kRoom, PROT_READ | PROT_WRITE) != 0) std::abort();
        std::mt19937 random(seed);
        for (std::uint8_t& byte : bytes()) byte = static_cast<std::uint8_t>(random());
    }
    Fenced(const Fenced&) = delete;
    Fenced& operator=(const Fenced&) = delete;
    ~Fenced() { ::munmap(all_, kRoom + 2 * kPage); }

    std::uint8_t* begin() { return all_ + kPage; }
    std::uint8_t* end() { return begin() + kRoom; }
    std::span<std::uint8_t> bytes() { return {begin(), kRoom}; }

private:
    std::uint8_t* all_;
};

std::vector<std::size_t> sizes() {
    std::vector<std::size_t> all;
    for (std::size_t size = 0; size <= 300; ++size) all.push_back(size);
    for (const std::size_t size : {511U, 512U, 1000U, 4095U, 4096U, 5000U}) all.push_back(size);
    return all;
}

constexpr std::size_t kShifts = 18;

using Move = void* (*)(void*, const void*, std::size_t);

TEST(MemoryFunctions, CopyEachSizeFromAndToEachPlace) {
    for (const Move move : {&portable_memcpy, &portable_memmove}) {
        Fenced from(1);
        Fenced to(2);
        std::vector<std::uint8_t> wanted(to.bytes().begin(), to.bytes().end());
        for (const std::size_t size : sizes()) {
            for (std::size_t shift = 0; shift < kShifts; ++shift) {
                for (const bool is_at_end : {false, true}) {
                    const std::size_t other = shift * 7 % kShifts;
                    std::uint8_t* const source = is_at_end ? from.end() - size - shift : from.begin() + shift;
                    std::uint8_t* const target = is_at_end ? to.end() - size - other : to.begin() + other;
                    std::memcpy(wanted.data() + (target - to.begin()), source, size);
                    ASSERT_EQ(move(target, source, size), target);
                    ASSERT_EQ(std::memcmp(wanted.data(), to.begin(), kRoom), 0) << size << " bytes, " << shift;
                }
            }
        }
    }
}

TEST(MemoryFunctions, MoveWhatOverlaps) {
    Fenced memory(3);
    std::vector<std::uint8_t> wanted(memory.bytes().begin(), memory.bytes().end());
    for (const std::size_t size : sizes()) {
        for (std::size_t at = 0; at <= 150; at += at < 20 ? 1 : 13) {
            const std::size_t fixed = 75;
            std::memmove(wanted.data() + at, wanted.data() + fixed, size);
            ASSERT_EQ(portable_memmove(memory.begin() + at, memory.begin() + fixed, size), memory.begin() + at);
            ASSERT_EQ(std::memcmp(wanted.data(), memory.begin(), kRoom), 0) << size << " bytes to " << at;
        }
    }
}

TEST(MemoryFunctions, Fill) {
    Fenced memory(4);
    std::vector<std::uint8_t> wanted(memory.bytes().begin(), memory.bytes().end());
    for (const std::size_t size : sizes()) {
        for (std::size_t shift = 0; shift < kShifts; ++shift) {
            std::uint8_t* const target = memory.end() - size - shift;
            const int byte = static_cast<int>(size + shift) + 0x100;  // only its low bits count
            std::memset(wanted.data() + (target - memory.begin()), byte, size);
            ASSERT_EQ(portable_memset(target, byte, size), target);
            ASSERT_EQ(std::memcmp(wanted.data(), memory.begin(), kRoom), 0) << size << " bytes";
        }
    }
}

// The byte occurs at each position in turn, and also just before and just after the searched run.
TEST(MemoryFunctions, FindTheFirstByte) {
    Fenced memory(5);
    std::memset(memory.begin(), 'a', kRoom);
    for (const std::size_t size : sizes()) {
        for (std::size_t shift = 0; shift < kShifts; ++shift) {
            std::uint8_t* const begin = memory.end() - size - shift;
            begin[-1] = 0xFF;
            if (shift > 0) begin[size] = 0xFF;
            ASSERT_EQ(portable_memchr(begin, 0xFF, size), nullptr) << size;
            for (std::size_t at = 0; at < size; at += size < 300 ? 1 : 61) {
                begin[at] = begin[size - 1] = 0xFF;
                ASSERT_EQ(portable_memchr(begin, 0xFF, size), begin + at) << size << " bytes, at " << at;
                ASSERT_EQ(portable_memchr(begin, -1, size), begin + at);
                begin[at] = begin[size - 1] = 'a';
            }
            std::memset(begin - 1, 'a', size + 1 + (shift > 0 ? 1 : 0));
        }
    }
}

int sign(int number) { return (number > 0 ? 1 : 0) - (number < 0 ? 1 : 0); }

// The runs differ at each position in turn, and in the opposite direction at the next byte.
TEST(MemoryFunctions, Compare) {
    Fenced one(6);
    Fenced other(7);
    for (const std::size_t size : sizes()) {
        for (std::size_t shift = 0; shift < kShifts; ++shift) {
            std::uint8_t* const a = one.end() - size;
            std::uint8_t* const b = other.end() - size - shift;
            if (shift > 0) b[size] = static_cast<std::uint8_t>(~b[size]);
            std::memcpy(b, a, size);
            ASSERT_EQ(portable_memcmp(a, b, size), 0) << size;
            ASSERT_EQ(portable_bcmp(a, b, size), 0) << size;
            for (std::size_t at = 0; at < size; at += size < 300 ? 1 : 61) {
                b[at] = static_cast<std::uint8_t>(~a[at]);
                if (at + 1 < size) b[at + 1] = static_cast<std::uint8_t>(a[at + 1] ^ 0x80);
                ASSERT_EQ(sign(portable_memcmp(a, b, size)), sign(std::memcmp(a, b, size))) << size << ", at " << at;
                ASSERT_NE(portable_bcmp(a, b, size), 0) << size << " bytes, at " << at;
                std::memcpy(b, a, size);
            }
        }
    }
}

}  // namespace
