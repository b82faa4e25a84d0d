// The positions where a bit has to pass from one 64-byte step to the next.
#include <gtest/gtest.h>

#include <iterator>

#include "inputs.h"
#include "kernel_check.h"

namespace cleave::test::kernel_edge_test {

class KernelEdgeTest : public testing::TestWithParam<const Kernel*> {
protected:
    const Kernel& kernel() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(, KernelEdgeTest, testing::ValuesIn(kernels_under_test()),
                         [](const auto& parameter) { return unique_name(parameter.param); });

// Runs of one byte that begin at every offset of a step, inside and outside quotes.
TEST_P(KernelEdgeTest, LongRunsOfOneByte) {
    constexpr std::size_t kLengths[] = {1,  2,  3,  4,   31,  32,  33,  61,  62,  63,  64,  65,
                                        66, 67, 95, 126, 127, 128, 129, 130, 191, 192, 193, 200};
    const std::string tail = ",\"x\ny\",z\r\nb,\"c\"\n";
    for (const Dialect& dialect : every_dialect()) {
        const std::string alphabet = alphabet_of(dialect);
        for (const char byte : alphabet.substr(1)) {
            for (std::size_t offset = 0; offset < kStepSize; offset += stride(3, 27)) {
                for (const std::size_t length : kLengths) {
                    const std::string run(length, byte);
                    expect_as_reference(kernel(), dialect, std::string(offset, 'a') + run + tail);
                    if (offset > 0) {
                        expect_as_reference(kernel(), dialect, std::string(offset - 1, 'a') + "," + run + tail);
                    }
                }
                if (HasFailure()) FAIL() << "see above";
            }
        }
    }
}

// In quote mode `anywhere`, a quote after a closing one opens nothing, even where the other mode takes both for data.
// The quotes are at every position in a step, and the modes may diverge later in it.
TEST_P(KernelEdgeTest, DoubledQuotesByAnywhere) {
    for (Dialect dialect : every_dialect()) {
        if (!dialect.quote) continue;
        dialect.quoting = Quoting::kAnywhere;
        for (std::size_t offset = 0; offset < 2 * kStepSize; offset += stride(3, 7)) {
            for (std::size_t length = 1; length <= 7; ++length) {
                for (const std::string_view after : {"", "a", "\n\"\n", "a\"\n\"\n"}) {
                    const std::string text = std::string(offset, 'a') + std::string(length, '"') + std::string(after);
                    expect_as_reference(kernel(), dialect, text);
                }
            }
        }
        if (HasFailure()) FAIL() << "see above";
    }
}

// Runs of 1 to 200 bytes, for each byte whose parity matters.
TEST_P(KernelEdgeTest, RunsOfEveryLength) {
    for (const Dialect& dialect : every_dialect()) {
        for (const char byte : std::string_view("\\\"")) {
            for (std::size_t length = 1; length <= 200; length += stride(3, 7)) {
                const std::string run(length, byte);
                for (const std::string_view after : {"\"", "\n", ",", "a", "\r\n"}) {
                    const std::string text = "a,\"b" + run + std::string(after) + "c\",d\n\"e\"\n";
                    expect_as_reference(kernel(), dialect, text);
                    expect_as_reference(kernel(), dialect, "a," + run + std::string(after) + "c,d\n\"e\"\n");
                }
            }
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// Every string of four bytes of the alphabet, across the border of two steps.
TEST_P(KernelEdgeTest, EveryFourBytesAcrossTheBorder) {
    for (const Dialect& dialect : every_dialect()) {
        const std::string alphabet = alphabet_of(dialect);
        const std::size_t count = alphabet.size();
        // The strides share no divisor with the number of bytes in the alphabet, 5 or 6.
        for (std::size_t number = 0; number < count * count * count * count; number += stride(7, 17)) {
            const std::string four = {alphabet[number % count], alphabet[number / count % count],
                                      alphabet[number / count / count % count],
                                      alphabet[number / count / count / count]};
            for (const std::size_t before : {61U, 62U}) {
                const std::string plain(before - 1, 'a');
                for (const std::string& head : {plain + "a", plain + ",", "\"" + plain}) {
                    expect_as_reference(kernel(), dialect, head + four + ",\"x\n\",\"y\n");
                }
            }
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

// Any byte except a line break may have any role, even the NUL that pads the last step and bytes with the high bit set.
TEST_P(KernelEdgeTest, RolesOfUnusualBytes) {
    constexpr std::uint8_t kBytes[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    for (std::uint64_t seed = 0; seed < rounds(8); ++seed) {
        Random random(seed);
        for (Dialect dialect : every_dialect()) {
            const std::size_t first = random.below(std::size(kBytes));
            dialect.delimiter = kBytes[first];
            if (dialect.quote) dialect.quote = kBytes[(first + 1) % std::size(kBytes)];
            if (dialect.escape) dialect.escape = kBytes[(first + 2) % std::size(kBytes)];
            SCOPED_TRACE(testing::Message() << "seed " << seed << ", bytes from " << unsigned{kBytes[first]});
            for (std::size_t size = 0; size <= 200; ++size) {
                expect_as_reference(kernel(), dialect, random_text(random, dialect, size));
            }
            if (HasFailure()) FAIL() << "see above";
        }
    }
}

}  // namespace cleave::test::kernel_edge_test
