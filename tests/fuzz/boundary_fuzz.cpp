// Any text in any dialect, cut anywhere: what cleave_scan.h gives in order, by starts and by composed summaries is what
// the reference reads. Any bytes that arrive as a state or a summary are refused or used.
#include <gtest/gtest.h>

#include <algorithm>

#include "boundary_check.h"
#include "choices.h"
#include "csv_mutator.h"
#include "kernels_under_test.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

struct Case {
    Dialect dialect;
    std::size_t kernel;
    std::size_t repeated;
    std::vector<std::size_t> cuts;
    bool has_mark;
    std::size_t text_at;
    std::string text;
};

Case make_case(Choices& choices) {
    Case made;
    made.dialect = choices.dialect();
    made.dialect.preamble = 0;
    made.kernel = choices.byte();
    made.repeated = choices.one_in(32) ? 3000 + choices.below(8000) : 0;
    made.cuts.resize(choices.below(5));
    for (std::size_t& cut : made.cuts) cut = choices.below(made.repeated > 0 ? made.repeated : kMaxTextSize);
    made.has_mark = choices.one_in(4);
    made.text_at = choices.taken();
    made.text = (made.has_mark ? "\xEF\xBB\xBF" : "") + choices.text(kMaxTextSize);
    return made;
}

template <class Value>
Value any_value(std::string_view text) {
    Value value{};
    text.copy(reinterpret_cast<char*>(&value), sizeof value);
    return value;
}

void use_anything(std::string_view text) {
    auto summary = any_value<cleave_scan_summary>(text);
    cleave_scan_summary both;
    auto state = any_value<cleave_scan_state>(text);
    cleave_scan_range range;
    cleave_scan_counts counts;
    cleave_compose(&summary, &summary, &both);
    cleave_resolve(&summary, &state, &range);
    cleave_scan(&summary.dialect, &state, text.data(), text.size(), &counts);
    cleave_scan_end(&summary.dialect, &state, &counts);
}

void fuzz(Choices choices) {
    static const std::vector<const Kernel*> kKernels = kernels_under_test();
    auto [dialect, kernel, size, cuts, has_mark, text_at, text] = make_case(choices);
    use_anything(text);
    if (size > 0) text = repeated(text, size);
    for (std::size_t& cut : cuts) cut = std::min(cut, text.size());
    std::ranges::sort(cuts);
    expect_as_reference(*kKernels[kernel % kKernels.size()], dialect, text, cuts);
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
