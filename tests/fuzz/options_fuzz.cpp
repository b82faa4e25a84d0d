// Command lines: every mistake is a UsageError, and accepted arguments are usable.
#include <gtest/gtest.h>

#include <system_error>

#include "choices.h"
#include "cli/options.h"
#include "inputs.h"

namespace cleave::test {
namespace {

using cli::Arguments;
using cli::RecordRange;
using cli::UsageError;
using cli::Verb;

std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\0', begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

void expect_policy(const Arguments& arguments) {
    const Policy& policy = arguments.policy;
    for (const auto& limit : {policy.records, policy.max_bytes, policy.pieces}) {
        EXPECT_NE(limit, 0U);
    }
    EXPECT_FALSE(policy.pieces && (policy.records || policy.max_bytes));
    const bool has_plan = !arguments.plan.empty();
    const bool must_cut =
        arguments.verb == Verb::kSplit || arguments.verb == Verb::kOffsets || arguments.verb == Verb::kPlan;
    const bool may_cut = must_cut || arguments.verb == Verb::kCat;
    const bool cuts = policy.pieces || policy.records || policy.max_bytes || policy.by || has_plan;
    EXPECT_TRUE(cuts ? may_cut : !must_cut);
    if (arguments.verb == Verb::kCat) {
        EXPECT_EQ(policy.pieces || has_plan, arguments.cat_piece > 0);
        EXPECT_LE(arguments.cat_piece, policy.pieces.value_or(has_plan ? UINT64_MAX : 0));  // the plan knows the count
    }
    EXPECT_EQ(policy.alignment != 0, arguments.clone.value_or(CloneMode::kNever) != CloneMode::kNever);
}

void expect_usable(const Arguments& arguments) {
    if (arguments.help != cli::HelpLevel::kNone) return;
    expect_policy(arguments);
    for (const char* name : {"in.csv", "in.tsv"}) {
        const Dialect dialect = settle_dialect(arguments.dialect, bytes_of("a,b;c\td\n"), name).dialect;
        EXPECT_EQ(dialect_fault(dialect), std::nullopt) << name;
    }
    EXPECT_GE(arguments.execution.thread_count(), 1U);
    EXPECT_GE(arguments.execution.block_size, 64U);
    EXPECT_LE(arguments.execution.block_size, kMaxBlockSize);
    EXPECT_FALSE(arguments.inputs.empty() && arguments.output.manifest.empty() && arguments.inputs_from.empty() &&
                 arguments.rejected.empty());
    if (arguments.verb == Verb::kOffsets || (joins_inputs(arguments.verb) && arguments.snapshot)) {
        EXPECT_EQ(arguments.inputs.size(), 1U);
    }
    EXPECT_TRUE(arguments.columns_by_name || !arguments.drops_unknown);
    const RecordRange range = arguments.range.value_or(RecordRange{});
    EXPECT_LE(range.first, range.last);
    EXPECT_GE(range.first, 1U);
}

void fuzz(Choices choices) {
    const auto verb = static_cast<Verb>(choices.below(cli::kVerbCount));
    const std::string text = choices.text(300);
    try {
        const Arguments arguments = cli::parse_arguments(verb, words_of(text));
        if (verb != Verb::kKey && verb != Verb::kInfo) expect_usable(arguments);
    } catch (const UsageError& error) {
        EXPECT_NE(std::string_view(error.what()), "");
    } catch (const std::system_error&) {  // a rules file cannot be read
        EXPECT_NE(text.find("--rules"), std::string::npos);
    }
}

}  // namespace
}  // namespace cleave::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cleave::test::fuzz(cleave::test::Choices({data, size}));
    return 0;
}
