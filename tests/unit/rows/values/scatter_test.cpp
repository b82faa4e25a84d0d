// Compares scattered bytes with strings to which the same bytes are appended.
#include "rows/values/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "inputs.h"

namespace cleave::test::scatter_test {

constexpr std::size_t kBuffer = 4096;  // the smallest possible

// Lends copies of the bytes, like a file that is not mapped.
class CopyingBlob final : public Blob {
public:
    explicit CopyingBlob(const std::string& text) : text_(text) {}

    std::uint64_t size() const noexcept override { return text_.size(); }
    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override {
        buffer.assign(text_.begin() + static_cast<std::ptrdiff_t>(offset),
                      text_.begin() + static_cast<std::ptrdiff_t>(offset + size));
        return buffer;
    }

private:
    const std::string& text_;
};

std::size_t random_size(Random& random) {
    switch (random.below(8)) {
        case 0: return random.below(3);
        case 1: return kBuffer - 2 + random.below(4);
        case 2: return random.below(200'000);
        default: return random.below(300);
    }
}

TEST(Scatter, EveryPlaceGetsItsBytesInOrder) {
    for (std::uint64_t seed = 0; seed < rounds(30); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        Random random(seed);
        std::string text(random.below(3'000'000), ' ');
        for (char& c : text) c = static_cast<char>(random.below(256));
        const std::size_t count = 1 + random.below(40);
        std::vector<std::uint64_t> offsets(count);
        for (std::uint64_t& offset : offsets) offset = random.below(10'000);
        std::vector<std::string> expected(count);
        std::vector<std::string> found(count);
        std::vector<std::size_t> unaligned(count);  // starts of writes
        const auto write = [&](std::size_t to, std::uint64_t offset, std::span<const std::uint8_t> bytes) {
            ASSERT_LT(to, count);
            ASSERT_EQ(offset, offsets[to] + found[to].size());
            ASSERT_FALSE(bytes.empty());
            if (offset % kBuffer != 0 && bytes.size() < kBuffer) ++unaligned[to];
            found[to].append(bytes.begin(), bytes.end());
        };
        const std::uint64_t begin = random.below(text.size() + 1);
        const CopyingBlob blob(text);
        Scatterer scatterer(blob, {begin, text.size() - begin}, offsets, random.below(3) * count * kBuffer * 3, write,
                            nullptr);
        std::vector<std::size_t> large(count);
        for (std::uint64_t at = begin; at < text.size();) {
            const std::size_t to = random.below(count);
            const std::size_t size = std::min(random_size(random), text.size() - at);
            large[to] += size >= kBuffer ? 1 : 0;
            expected[to].append(text, at, size);
            scatterer.take(to, size);
            at += size;
        }
        scatterer.finish();
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(found[i], expected[i]) << i;
            EXPECT_LE(unaligned[i], 1 + 2 * large[i]) << i;
        }
        if (testing::Test::HasFailure()) break;
    }
}

// With small parts, each write is a full buffer.
TEST(Scatter, BuffersTakeUpTheMemoryThatIsGiven) {
    const std::string text(1'000'000, 'x');
    const CopyingBlob blob(text);
    const std::vector<std::uint64_t> offsets(8);
    for (const auto& [memory, buffer] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, kBuffer}, {8 * kBuffer, kBuffer}, {16 * kBuffer, 2 * kBuffer}, {100 * kBuffer, 8 * kBuffer}}) {
        std::size_t largest = 0;
        const auto write = [&](std::size_t, std::uint64_t, std::span<const std::uint8_t> bytes) {
            largest = std::max(largest, bytes.size());
        };
        Scatterer scatterer(blob, {0, text.size()}, offsets, memory, write, nullptr);
        for (std::size_t i = 0; i < text.size() / 100; ++i) scatterer.take(i % offsets.size(), 100);
        scatterer.finish();
        EXPECT_EQ(largest, buffer) << memory;
    }
}

}  // namespace cleave::test::scatter_test
