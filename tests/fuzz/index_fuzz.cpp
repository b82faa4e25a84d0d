// Blocks of any size, several threads, and every question that the resulting index can answer.
#include <gtest/gtest.h>

#include "choices.h"
#include "cleave/foreign.h"
#include "csv_mutator.h"
#include "index_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 150;

struct Case {
    Dialect dialect;
    Execution execution;
    bool is_long;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    Case made;
    made.dialect = choices.dialect();
    made.execution.kernel = kKernels[choices.below(kKernels.size())];
    made.execution.threads = choices.one_in(32) ? 2 + choices.byte() % 2 : 1;
    made.is_long = choices.one_in(64);
    made.execution.block_size = 1 + choices.below(made.is_long ? 3000 : 300);
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    // The blocks of a long input are read in lanes.
    const std::string input = made.is_long ? repeated(made.text, 2500) : made.text;
    if (foreign_format(bytes_of(input))) return;  // indexing refuses it
    IndexCheck(input, made.dialect).expect_index(made.execution);
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    cleave::test::Choices choices({data, size});
    const cleave::test::Case made = cleave::test::make_case(choices);
    return cleave::test::mutate_csv({data, max_size}, size, seed, made.text_at, made.dialect);
}

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
