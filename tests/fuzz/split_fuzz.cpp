// Split, then join: plans for bytes and for streams are the same, their cuts are record starts, and header and bodies
// join to give the input.
#include <gtest/gtest.h>

#include <array>

#include "choices.h"
#include "cleave/foreign.h"
#include "csv_mutator.h"
#include "filled_pipe.h"
#include "plan_check.h"

namespace cleave::test {
namespace {

constexpr std::size_t kMaxTextSize = 250;

// A stream arrives in parts only after its first bytes, which are examined together. Some runs therefore put a head of
// nearly that size before their text.
std::string make_head(Choices& choices, const Dialect& dialect) {
    const std::size_t size = kSniffSize - choices.below(100);
    const char terminator = dialect.terminator == Terminator::kCr ? '\r' : '\n';
    std::string head(size, 'a');
    switch (choices.below(4)) {
        case 0: return repeated(std::string(200 + choices.below(1000), 'a') + terminator, size);
        case 1: head.back() = terminator; break;
        case 2: head.front() = static_cast<char>(dialect.quote.value_or('"')); break;
        default: break;
    }
    return head;
}

Policy make_policy(Choices& choices, std::size_t head_size) {
    Policy policy;
    policy.header = choices.header_mode();
    const std::size_t kind = choices.below(8);
    if (kind == 7) {
        policy.pieces = 1 + choices.below(100);
    } else {
        if (kind % 3 != 0) policy.records = 1 + (choices.one_in(4) ? choices.below(300) : choices.below(8));
        if (kind % 3 != 1) policy.max_bytes = 1 + choices.below(200) + (choices.one_in(2) ? head_size : 0);
    }
    if (choices.one_in(4)) policy.alignment = 1 + choices.below(64);
    return policy;
}

void expect_joined(const Plan& plan, const std::string& text) {
    std::string joined = text.substr(0, plan.header_size);
    for (const Piece& piece : plan.pieces) {
        EXPECT_EQ(piece.start, joined.size());
        joined += text.substr(piece.start, piece.length);
    }
    EXPECT_TRUE(joined == text);
}

void expect_rules(const Plan& plan, const std::string& text, const Dialect& dialect, const Policy& policy) {
    const PlanCheck check(text, dialect, policy);
    if (policy.alignment != 0) {
        check.expect_aligned(plan);
    } else if (policy.pieces) {
        check.expect_shares(plan);
    } else {
        check.expect_limits(plan);
    }
}

struct Case {
    Dialect dialect;
    std::string head;
    Policy policy;
    Execution execution;
    std::array<std::size_t, 4> part_sizes{};  // for a stream
    std::size_t text_at;
    std::string tail;
};

Case make_case(Choices& choices) {
    static const std::vector<const Kernel*> kKernels = available_kernels();
    Case made;
    made.dialect = choices.dialect();
    if (choices.one_in(32)) made.head = make_head(choices, made.dialect);
    made.policy = make_policy(choices, made.head.size());
    made.execution.kernel = kKernels[choices.below(kKernels.size())];
    made.execution.threads = choices.one_in(16) ? 2 : 1;
    if (made.head.empty()) made.execution.block_size = 1 + choices.below(300);
    for (std::size_t& size : made.part_sizes) size = 1 + choices.below(100);
    made.text_at = choices.taken();
    made.tail = choices.text(kMaxTextSize);
    return made;
}

void fuzz(Choices choices) {
    const auto [dialect, head, policy, execution, part_sizes, text_at, tail] = make_case(choices);
    const std::string text = head + tail;
    if (foreign_format(bytes_of(text))) return;  // indexing refuses it

    const bool is_compressed = compression_of(bytes_of(text)) != Compression::kNone;  // a stream would be decompressed
    if (const PlanCheck check(text, dialect, policy); !check.has_plan()) {
        if (!is_compressed) check.expect_refusal();
        return;
    }
    const Plan plan = plan_of_bytes(text, dialect, execution, policy);
    expect_joined(plan, text);
    if (head.empty()) expect_rules(plan, text, dialect, policy);
    if (needs_whole_input(policy) || is_compressed) return;

    const FilledPipe pipe(text, head.size(), part_sizes);
    Input input = Input::open(pipe.path());
    const auto [streamed, findings] = plan_of_stream(input, text, dialect, execution, policy);
    expect_same(streamed, plan);
    const Findings of_bytes = RecordIndex(bytes_of(text), dialect, execution).findings();
    EXPECT_EQ(findings.records, of_bytes.records);
    EXPECT_EQ(findings.open_quote, of_bytes.open_quote);
    EXPECT_EQ(findings.divergence, of_bytes.divergence);
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
