// `check` gives the same counts as the references: for bytes with any kernel, number of threads and block size, and for
// a stream however it is divided.
#include <gtest/gtest.h>

#include <array>

#include "choices.h"
#include "cleave/foreign.h"
#include "csv_mutator.h"
#include "examine_check.h"
#include "filled_pipe.h"
#include "inputs.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

struct Case {
    Dialect dialect;
    Execution execution;
    std::uint64_t max_listed = kListedRagged;
    std::string head;  // for a stream: nearly as long as the first part examined; empty: bytes in memory
    std::array<std::size_t, 4> part_sizes{};
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    Case made;
    made.dialect = choices.dialect();
    made.dialect.header = choices.header_record();
    made.execution.kernel = kKernels[choices.below(kKernels.size())];
    made.execution.threads = choices.one_in(16) ? 2 + choices.byte() % 3 : 1;
    made.execution.block_size = 1 + choices.below(300);
    if (choices.one_in(4)) made.max_listed = choices.below(4);
    if (choices.rarely(300)) {
        const char terminator = made.dialect.terminator == Terminator::kCr ? '\r' : '\n';
        made.head = repeated(std::string(60, 'a') + terminator, kSniffSize - choices.below(100));
        made.execution.block_size += 4096;
    }
    for (std::size_t& size : made.part_sizes) size = 1 + choices.below(100);
    made.text_at = choices.taken();
    made.text = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    const Case made = make_case(choices);
    const std::string text = made.head + made.text;
    if (foreign_format(bytes_of(text))) return;  // such files are refused
    const ExaminationCheck check(text, made.dialect, made.max_listed);
    Input bytes = Input::of_memory(bytes_of(text), "in.csv");
    check.expect(examine(bytes, made.dialect, made.execution, made.max_listed));
    if (made.head.empty()) return;
    const FilledPipe pipe(text, made.head.size(), made.part_sizes);
    Input stream = Input::open(pipe.path());
    check.expect(examine(stream, made.dialect, made.execution, made.max_listed));
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
