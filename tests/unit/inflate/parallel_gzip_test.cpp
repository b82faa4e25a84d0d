// Gzip read on several threads: whatever the threads and the chunks, the bytes, the verdict and its place are those of
// zlib.
#include "inflate/parallel_gzip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "cleave/error.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test {
namespace {

using Verdict = GzipOutcome::Verdict;

struct Way {
    unsigned threads;
    std::size_t chunk;
};

GzipOutcome outcome_on_threads(std::string_view stream, const Way& way) {
    std::size_t given = 0;
    ParallelGzip gzip(
        std::make_unique<GzipReader>(),
        [&](std::span<std::uint8_t> into) {
            const std::size_t size = std::min(into.size(), stream.size() - given);
            std::memcpy(into.data(), stream.data() + given, size);
            given += size;
            return size;
        },
        way.threads, way.chunk);
    GzipOutcome outcome;
    try {
        for (auto bytes = gzip.read(); !bytes.empty(); bytes = gzip.read())
            outcome.text.append(bytes.begin(), bytes.end());
    } catch (const InputError&) {
        outcome.verdict = Verdict::kCorrupt;
        outcome.place = gzip.place();
        return outcome;
    }
    if (gzip.is_whole()) return outcome;
    outcome.verdict = Verdict::kTooShort;
    outcome.place = gzip.place();
    return outcome;
}

Way some_way(Random& random) {
    constexpr std::array<std::size_t, 6> kChunks = {1024, 2000, 5000, 20'000, 65'536, 0};
    return {1 + static_cast<unsigned>(random.below(kSanitized ? 4 : 16)), kChunks.at(random.below(kChunks.size()))};
}

// CLEAVE_GZIP_STREAMS is set by `./dev prove gzip`.
TEST(ParallelGzipTest, RandomStreamsAreReadAsByZlib) {
    Random random(38);
    for (unsigned i = gzip_streams(kSanitized ? 60 : 300); i > 0; --i) {
        const std::string stream = some_gzip(random, 600'000);
        ASSERT_EQ(outcome_on_threads(stream, some_way(random)), outcome_by_zlib(stream)) << i;
        for (unsigned damages = 5; damages > 0; --damages) {
            std::string damaged = stream;
            damage_gzip(random, damaged);
            ASSERT_EQ(outcome_on_threads(damaged, some_way(random)), outcome_by_zlib(damaged)) << i;
        }
    }
}

}  // namespace
}  // namespace cleave::test
