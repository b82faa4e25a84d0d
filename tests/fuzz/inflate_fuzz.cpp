// Any bytes as a gzip stream, beside two witnesses. Read in order and by chunks on several threads, the text, the
// verdict and its place are those of zlib, however the stream arrives; what is whole is whole to libdeflate, too.
#include <gtest/gtest.h>
#include <libdeflate.h>

#include <memory>
#include <string>
#include <vector>

#include "choices.h"
#include "gzip_members.h"
#include "gzip_outcomes.h"
#include "gzip_reference.h"
#include "inputs.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;  // a few bytes may expand to a great many

struct Case {
    std::size_t step;
    GzipWay way;
    std::uint64_t seed;  // of a stream that is made; with 0, the rest of the input is the stream
    std::size_t flipped;
};

Case make_case(Choices& choices) {
    Case made;
    made.step = 1 + choices.below(3000);
    made.way = {1 + static_cast<unsigned>(choices.below(3)), 1024 + choices.below(4096)};
    made.seed = choices.one_in(2) ? 1 + choices.below(65'535) : 0;
    made.flipped = choices.one_in(2) ? choices.below(65'536) : 0;
    return made;
}

std::string make_stream(const Case& made, Choices& choices) {
    if (made.seed == 0) return choices.text(4096);
    Random random(made.seed);
    std::string stream = some_gzip(random, 20'000);
    if (made.flipped > 0 && !stream.empty()) {
        const std::size_t bit = made.flipped % (stream.size() * 8);
        stream[bit / 8] = static_cast<char>(stream[bit / 8] ^ 1 << bit % 8);
    }
    return stream;
}

// The text of all members by libdeflate, which must be `size` bytes.
std::string by_libdeflate(const std::string& stream, std::size_t size) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&::libdeflate_free_decompressor)> decompressor(
        ::libdeflate_alloc_decompressor(), &::libdeflate_free_decompressor);
    std::string text(size + 1, '\0');
    std::size_t made = 0;
    for (std::size_t at = 0; at < stream.size() && stream[at] != '\0';) {
        std::size_t taken = 0;
        std::size_t written = 0;
        const auto result = ::libdeflate_gzip_decompress_ex(decompressor.get(), stream.data() + at, stream.size() - at,
                                                            text.data() + made, text.size() - made, &taken, &written);
        EXPECT_EQ(result, LIBDEFLATE_SUCCESS);
        if (result != LIBDEFLATE_SUCCESS) break;
        at += taken;
        made += written;
    }
    text.resize(made);
    return text;
}

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    const std::string stream = make_stream(made, choices);
    const GzipOutcome expected = outcome_by_zlib(stream);
    if (expected.text.size() > kMostText) return;
    EXPECT_TRUE(outcome_in_order(stream, made.step) == expected);
    EXPECT_TRUE(outcome_on_threads(stream, made.way) == expected);
    if (expected.verdict == GzipOutcome::Verdict::kWhole) {
        EXPECT_TRUE(by_libdeflate(stream, expected.text.size()) == expected.text);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_gzip({data, max_size}, size, seed, made.seed > 0 ? max_size : choices.taken());
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
