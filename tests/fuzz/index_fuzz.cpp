// Blocks of any size, on several threads, and every question that can be asked of their index.
#include <gtest/gtest.h>

#include "choices.h"
#include "cleave/foreign.h"
#include "index_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 150;

void fuzz(Choices choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    const Dialect dialect = choices.dialect();
    const Kernel* kernel = kKernels[choices.below(kKernels.size())];
    const unsigned threads = choices.one_in(32) ? 2 + choices.byte() % 2 : 1;
    const bool is_long = choices.one_in(64);
    const std::size_t block_size = 1 + choices.below(is_long ? 3000 : 300);
    const std::string text = choices.text(kMaxTextSize);
    // A long one has blocks that are read in lanes.
    const std::string input = is_long ? repeated(text, 2500) : text;
    if (foreign_format(bytes_of(input))) return;  // an index refuses it
    IndexCheck(input, dialect).expect_index({kernel, threads, block_size});
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
