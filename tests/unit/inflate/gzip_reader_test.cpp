// Gzip read in order: the bytes, the verdict and its place are those of zlib, however the stream arrives, whatever is
// wrong with it, and from wherever reading starts.
#include "inflate/gzip_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cleave/error.h"
#include "gzip_outcomes.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMostText = 200'000;

std::size_t some_step(Random& random, std::size_t size) {
    constexpr std::array<std::size_t, 6> kSteps = {1, 7, 64, 1000, 65'536, std::size_t{1} << 30};
    const std::size_t step = kSteps.at(random.below(kSteps.size()));
    return size > 20'000 ? std::max<std::size_t>(step, 1000) : step;  // each step may read the head of a block again
}

// CLEAVE_GZIP_STREAMS is set by `./dev prove gzip`; each stream is damaged ten times.
TEST(GzipReaderTest, RandomStreamsAreReadAsByZlib) {
    Random random(35);
    for (unsigned i = gzip_streams(600); i > 0; --i) {
        const std::string stream = some_gzip(random, kMostText);
        ASSERT_EQ(outcome_in_order(stream, some_step(random, stream.size())), outcome_by_zlib(stream)) << i;
        for (unsigned damages = 10; damages > 0; --damages) {
            std::string damaged = stream;
            damage_gzip(random, damaged);
            ASSERT_EQ(outcome_in_order(damaged, some_step(random, stream.size())), outcome_by_zlib(damaged)) << i;
        }
    }
}

TEST(GzipReaderTest, EveryTruncationAndEveryFlippedBitIsReadAsByZlib) {
    Random random(36);
    for (unsigned i = rounds(20); i > 0; --i) {
        const std::string stream = some_gzip(random, 400);
        for (std::size_t size = 0; size <= stream.size(); ++size) {
            const std::string cut = stream.substr(0, size);
            ASSERT_EQ(outcome_in_order(cut, some_step(random, size)), outcome_by_zlib(cut)) << i << ' ' << size;
        }
        for (std::size_t bit = 0; bit < stream.size() * 8; ++bit) {
            std::string damaged = stream;
            damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
            ASSERT_EQ(outcome_in_order(damaged, some_step(random, stream.size())), outcome_by_zlib(damaged))
                << i << ' ' << bit;
        }
    }
}

// A stream is read up to some block, and the rest by a second reader from there.
TEST(GzipReaderTest, AnotherReaderContinuesAtABlock) {
    Random random(37);
    for (unsigned i = rounds(300); i > 0; --i) {
        const std::string stream = some_gzip(random, kMostText);
        std::string text;
        auto from = bytes_of(stream);
        const auto read = [&](GzipReader& reader, bool stops) {
            for (std::size_t left = 0; left != from.size() || !stops;) {
                left = from.size();
                const auto bytes = reader.decode(from);
                text.append(bytes.begin(), bytes.end());
                if (bytes.empty() && left == from.size()) return;
                if (stops && reader.place() && random.chance(20)) return;
            }
        };
        try {
            GzipReader first;
            first.stop_at_blocks();
            read(first, true);
            if (const auto place = first.place()) {
                const std::vector<std::uint8_t> window(first.window().begin(), first.window().end());
                GzipReader second(*place, window);
                read(second, false);
            } else {
                read(first, false);
            }
        } catch (const InputError&) {  // garbage after the last member
        }
        ASSERT_EQ(text, outcome_by_zlib(stream).text) << i;
    }
}

}  // namespace
}  // namespace cleave::test
