// Gzip read on several threads: whatever the threads and the chunks, the bytes, the verdict and its place are those of
// zlib.
#include "features/compressed/inflate/parallel_gzip.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "gzip_outcomes.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test::parallel_gzip_test {

GzipWay some_way(Random& random) {
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

// The places are those of a reader that is given the whole stream, as far as it goes: the same bits, in the same order.
TEST(ParallelGzipTest, PlacesDoNotDependOnThreads) {
    Random random(41);
    for (unsigned i = gzip_streams(kSanitized ? 60 : 300); i > 0; --i) {
        std::string stream = some_gzip(random, 600'000);
        if (random.chance(30)) damage_gzip(random, stream);
        std::vector<PassedPlace> wanted;
        outcome_in_order(stream, stream.size(), &wanted);
        std::vector<PassedPlace> found;
        outcome_on_threads(stream, some_way(random), &found);
        ASSERT_EQ(found, wanted) << i;
    }
}

}  // namespace cleave::test::parallel_gzip_test
