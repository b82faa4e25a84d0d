#include "range_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "cleave/experimental/range_plan.h"
#include "cleave/foreign.h"
#include "features/ranges/range_machine.h"
#include "kernels_under_test.h"
#include "plan_check.h"
#include "reference.h"

namespace cleave::test {
namespace {

Execution random_execution(Random& random) {
    Execution execution;
    const auto kernels = kernels_under_test();
    execution.kernel = kernels[random.below(kernels.size())];
    execution.block_size = random.chance(70) ? 1 + random.below(300) : std::size_t{1} << 20;
    execution.threads = random.chance(10) ? 2 : 1;
    return execution;
}

// Composes random neighbours until only one summary is left.
RangeSummary composed(std::vector<RangeSummary> ranges, Random& random) {
    while (ranges.size() > 1) {
        const std::size_t at = random.below(ranges.size() - 1);
        ranges[at] = compose(ranges[at], ranges[at + 1]);
        ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return ranges.front();
}

void expect_same(const RangeSummary& summary, const RangeSummary& expected, const std::string& what) {
    if (summary == expected) return;
    ADD_FAILURE() << what << '\n' << range_text(summary, {0, ""}) << '\n' << range_text(expected, {0, ""});
}

void expect_findings(const std::string& text, const Dialect& dialect, const Findings& findings) {
    const Reading reading = read_by_rules(text, dialect);
    EXPECT_EQ(findings.size, text.size());
    EXPECT_EQ(findings.records, reading.starts.size());
    EXPECT_EQ(findings.header_records, header_records(text, dialect));
    EXPECT_EQ(findings.open_quote, reading.open_quote());
    EXPECT_EQ(findings.divergence.has_value(), first_difference(text, dialect).has_value());
    EXPECT_EQ(findings, RecordIndex(bytes_of(text), dialect, Execution{}).findings());
}

Policy random_policy(Random& random, std::size_t size) {
    Policy policy;
    policy.header = kHeaderModes[random.below(std::size(kHeaderModes))];
    if (random.chance(40)) {
        policy.records = 1 + random.below(random.chance(50) ? 4 : size + 2);
    } else {
        policy.pieces = 1 + random.below(random.chance(50) ? 4 : size + 2);
        if (random.chance(40)) policy.balance = Balance::kRecords;
    }
    return policy;
}

Plan finished(const std::string& text, const Policy& policy, const RangePlan& plan, const Execution& execution) {
    const MemoryBlob blob(bytes_of(text));
    std::vector<Boundary> bounds = find_cuts(blob, plan.dialect, plan.cuts, execution);
    Plan result;
    result.header_size = plan.header_size;
    if (bounds.empty()) return result;
    const std::uint64_t header = plan.findings.records_before_data(policy.header != HeaderMode::kNone);
    bounds.push_back(plan.end());
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        result.pieces.push_back({i + 1, bounds[i].offset, bounds[i + 1].offset - bounds[i].offset,
                                 bounds[i].record - header + 1, bounds[i + 1].record - bounds[i].record});
    }
    return result;
}

void expect_plan(const std::string& text, const Dialect& dialect, const RangeFold& fold, Random& random) {
    const Policy policy = random_policy(random, text.size());
    SCOPED_TRACE(describe(policy));
    RangePlan plan = fold.plan(policy);
    plan.input.name = "v";
    const RangePlan read = parse_plan_text(plan_text(plan));
    EXPECT_EQ(read, plan);
    const Plan pieces = finished(text, policy, read, random_execution(random));
    const PlanCheck check(text, dialect, policy);
    if (policy.records) {
        check.expect_limits(pieces);
    } else if (policy.balance == Balance::kRecords) {
        check.expect_equal_records(pieces);
    } else {
        check.expect_shares(pieces);
    }
    const Plan expected = plan_of_bytes(text, dialect, Execution{}, policy);
    EXPECT_EQ(pieces.header_size, expected.header_size);
    EXPECT_EQ(pieces.pieces, expected.pieces);
}

}  // namespace

std::vector<std::uint64_t> random_ranges(Random& random, std::uint64_t size, std::size_t most) {
    std::vector<std::uint64_t> ends;
    const std::size_t count = random.below(most);
    ends.reserve(count + 1);
    for (std::size_t i = 0; i < count; ++i) ends.push_back(random.below(static_cast<std::size_t>(size) + 1));
    ends.push_back(size);
    std::ranges::sort(ends);
    return ends;
}

std::string random_ranged_text(Random& random, const Dialect& dialect, std::size_t size) {
    std::string text;
    if (random.chance(40)) text = std::string("\xEF\xBB\xBF").substr(0, 1 + random.below(3));
    if (random.chance(40)) text += random_noise(random, "\r\n", random.below(10));
    if (random.chance(5)) return text;
    text += random_text(random, dialect, random.below(size + 1));
    if (random.chance(10) && dialect.escape) {
        text.insert(random.below(text.size() + 1), std::string(random.below(200), static_cast<char>(*dialect.escape)));
    }
    if (random.chance(10)) text.insert(random.below(text.size() + 1), std::string(random.below(300), '\n'));
    if (random.chance(10) && dialect.quote)
        text.insert(random.below(text.size() + 1), std::string(random.below(300), static_cast<char>(*dialect.quote)));
    return text;
}

Dialect random_dialect(Random& random) {
    const std::vector<Dialect> dialects = every_dialect_and_rule();
    Dialect dialect = dialects[random.below(dialects.size())];
    if (random.chance(30)) dialect.header = HeaderRecord::kFirst;
    if (random.chance(10)) dialect.header = HeaderRecord::kNone;
    if (random.chance(20)) {
        Dialect odd = dialect;
        const std::string mark = "\xEF\xBB\xBF";
        if (odd.quote) odd.quote = static_cast<std::uint8_t>(random.one_of(mark));
        if (random.chance(50)) odd.delimiter = static_cast<std::uint8_t>(random.one_of(mark));
        if (odd.escape && random.chance(50)) odd.escape = static_cast<std::uint8_t>(random.one_of(mark));
        if (!dialect_fault(odd)) dialect = odd;
    }
    return led_at_random(dialect, random);
}

void check_ranges(const std::string& text, const Dialect& dialect, const std::vector<std::uint64_t>& ends,
                  Random& random) {
    if (foreign_format(bytes_of(text))) return;
    const RangeMachine machine(dialect);
    std::vector<RangeSummary> ranges;
    std::vector<std::size_t> order;
    std::uint64_t begin = 0;
    for (const std::uint64_t end : ends) {
        const auto bytes = bytes_of(text).subspan(begin, end - begin);
        if (begin == 0 && foreign_format(bytes)) return;
        const Execution execution = random_execution(random);
        ranges.push_back(summarise_range(bytes, begin, dialect, execution));
        EXPECT_EQ(ranges.back(), machine.summarise(bytes, begin))
            << begin << '-' << end << " by blocks of " << execution.block_size;
        begin = end;
    }
    expect_same(composed(ranges, random), machine.summarise(bytes_of(text), 0), "composed");
    if (ranges.size() > 1) {
        const std::span<const RangeSummary> rest = std::span(ranges).subspan(1 + random.below(ranges.size() - 1));
        expect_same(composed({rest.begin(), rest.end()}, random),
                    machine.summarise(bytes_of(text).subspan(rest.front().begin), rest.front().begin), "the rest");
    }

    RangeFold fold(text.size());
    order.resize(ranges.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (random.chance(50)) {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    }
    const InputVersion version{text.size(), "v"};
    for (const std::size_t i : order) {
        const std::string json = range_text(ranges[i], version);
        EXPECT_LE(json.size(), 1024U) << json;
        const SummarisedRange read = parse_range_text(json);
        EXPECT_EQ(read.summary, ranges[i]) << json;
        EXPECT_EQ(read.input, version);
        fold.add(read.summary);
    }
    expect_findings(text, dialect, fold.findings());
    expect_plan(text, dialect, fold, random);
}

void check_every_range(const std::string& text, const Dialect& dialect) {
    const RangeMachine machine(dialect);
    const std::size_t size = text.size();
    Execution execution;
    execution.block_size = 1;
    std::vector<std::vector<RangeSummary>> ranges(size + 1);
    for (std::size_t begin = 0; begin <= size; ++begin) {
        for (std::size_t end = begin; end <= size; ++end) {
            const auto bytes = bytes_of(text).subspan(begin, end - begin);
            ranges[begin].push_back(summarise_range(bytes, begin, dialect, execution));
            expect_same(ranges[begin].back(), machine.summarise(bytes, begin), "one range");
        }
    }
    for (std::size_t begin = 0; begin <= size; ++begin) {
        for (std::size_t end = begin; end <= size; ++end) {
            for (std::size_t cut = begin; cut <= end; ++cut) {
                expect_same(compose(ranges[begin][cut - begin], ranges[cut][end - cut]), ranges[begin][end - begin],
                            "composed");
            }
        }
    }
    for (std::size_t cut = 0; cut <= size; ++cut) {
        RangeFold fold(size);
        fold.add(ranges[cut][size - cut]);
        fold.add(ranges[0][cut]);
        expect_findings(text, dialect, fold.findings());
    }
}

void check_large(const std::string& text, const Dialect& dialect, std::size_t block_size) {
    const RangeMachine machine(dialect);
    Execution execution;
    execution.block_size = block_size;
    execution.threads = 2;
    const std::array<std::size_t, 5> ends = {1, 70'000, 70'001, text.size() - 5, text.size()};
    std::size_t begin = 0;
    RangeFold fold(text.size());
    for (const std::size_t end : ends) {
        const auto bytes = bytes_of(text).subspan(begin, end - begin);
        const RangeSummary summary = summarise_range(bytes, begin, dialect, execution);
        expect_same(summary, machine.summarise(bytes, begin), std::to_string(begin));
        fold.add(summary);
        begin = end;
    }
    EXPECT_EQ(fold.findings(), RecordIndex(bytes_of(text), dialect, execution).findings());
}

std::size_t largest_json(const std::string& text, const Dialect& dialect) {
    constexpr std::uint64_t kFar = 100'000'000'000'000;
    constexpr std::uint64_t kScale = 1'000'000'000;
    RangeSummary summary = summarise_range(bytes_of(text), kFar, dialect, Execution{});
    const auto move = [&](std::uint64_t& offset) {
        if (offset != kNoOffset && offset != kBeforeRange) offset = kFar + (offset - kFar) * kScale;
    };
    for (RangeRow& row : summary.states) {
        for (std::uint64_t* offset : {&row.first, &row.last, &row.header, &row.open}) move(*offset);
        row.records *= kScale;
    }
    for (RulesRow& row : summary.rules) move(row.parted);
    summary.end = kFar + text.size() * kScale;
    const InputVersion input{kFar * 2, std::string(128, 'v')};  // the longest name that the command accepts
    const std::string json = range_text(summary, input);
    EXPECT_LE(json.size(), 1024U) << json;
    EXPECT_EQ(parse_range_text(json).summary, summary) << json;
    return json.size();
}

namespace {

// Expects the call to throw an Error with this text.
template <class Error, class Call>
void expect_error(const std::string& text, const Call& call) {
    try {
        call();
        ADD_FAILURE() << "no error: " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.what(), text);
    }
}

// `json` is the summary of a whole input, `of_byte` the summary of its fifth byte.
void check_malformed(const std::string& json, const std::string& of_byte) {
    const auto with = [](std::string changed, const std::string& part, const std::string& other) {
        const std::size_t at = changed.find(part);
        EXPECT_NE(at, std::string::npos) << changed;
        if (at != std::string::npos) changed.replace(at, part.size(), other);
        return changed;
    };
    const std::string none = "not a range summary (the output of cleave scan): ";
    expect_error<InputError>(none + "the rules differ before the first record",
                             [&] { parse_range_text(with(json, "\"rules\":{}", R"("rules":{"00":["!",1]})")); });
    expect_error<InputError>(none + "a number is missing or too large",
                             [&] { parse_range_text(with(json, "\"rules\":{}", R"("rules":{"00":["!",1,4]})")); });
    parse_range_text(with(json, "\"rules\":{}", R"("rules":{"00":["!",1,3]})"));
    expect_error<InputError>(none + "the first record start of a state is behind its last one",
                             [&] { parse_range_text(with(json, "3,4,8", "3,8,4")); });
    expect_error<InputError>(none + "the first record start of a state is behind its last one",
                             [&] { parse_range_text(with(of_byte, R"("fupU":["u",0])", R"("fupU":["u",0,0])")); });
}

// A summary with one changed byte is refused or read as a different summary. A truncated one is refused.
void check_damaged(const std::string& json) {
    for (std::size_t i = 0; i < json.size(); ++i) {
        std::string damaged = json;
        damaged[i] = damaged[i] == '9' ? '0' : '9';
        try {
            RangeFold any(12);
            any.add(parse_range_text(damaged).summary);
        } catch (const InputError&) {  // allowed, unlike any other exception
        }
        EXPECT_THROW(parse_range_text(json.substr(0, i)), InputError);
    }
}

}  // namespace

void check_refusals() {
    const std::string text = "a,b\n1,2\n3,4\n";
    const auto range = [&](std::size_t begin, std::size_t end, const Dialect& dialect = Dialect{}) {
        return summarise_range(bytes_of(text).subspan(begin, end - begin), begin, dialect, Execution{});
    };
    const auto fold = [&](const std::vector<RangeSummary>& ranges) {
        Policy policy;
        policy.pieces = 2;
        plan_ranges(ranges, text.size(), policy);
    };
    expect_error<RangesError>("bytes 0-12 are missing from the summaries", [&] { fold({}); });
    expect_error<RangesError>("bytes 0-4 are missing from the summaries", [&] { fold({range(4, 12)}); });
    expect_error<RangesError>("bytes 7-12 are missing from the summaries", [&] { fold({range(0, 7)}); });
    expect_error<RangesError>("bytes 3-5 are missing from the summaries", [&] { fold({range(5, 12), range(0, 3)}); });
    expect_error<RangesError>("bytes 3-9 overlap bytes 0-5, which have already been given", [&] {
        fold({range(0, 5), range(3, 9)});
    });
    expect_error<RangesError>("bytes 8-12 overlap bytes 3-9, which have already been given", [&] {
        fold({range(3, 9), range(8, 12)});
    });
    expect_error<RangesError>("bytes 2-4 overlap bytes 3-9, which have already been given", [&] {
        fold({range(3, 9), range(2, 4)});
    });
    Dialect tab;
    tab.delimiter = '\t';
    expect_error<RangesError>("bytes 5-12 were read with another dialect than those before", [&] {
        fold({range(0, 5), range(5, 12, tab)});
    });
    expect_error<RangesError>("bytes 12-13 are not within an input of 12 bytes", [&] {
        RangeSummary past = range(12, 12);
        past.end = 13;
        fold({past});
    });
    expect_error<RangesError>("bytes 5-12: the summary is incomplete", [&] {
        RangeSummary part = range(5, 12);
        part.states = {};
        fold({range(0, 5), part});
    });
    expect_error<RangesError>("bytes 5-12: the summary is incomplete", [&] {
        RangeSummary part = range(5, 12);
        part.rules = {};
        fold({range(0, 5), part});
    });
    fold({range(5, 12), range(5, 5), range(0, 5)});
    expect_error<std::invalid_argument>("compose: the second range does not follow the first",
                                        [&] { compose(range(0, 5), range(6, 12)); });
    expect_error<std::invalid_argument>("compose: the dialects differ",
                                        [&] { compose(range(0, 5), range(5, 12, tab)); });
    Policy policy;
    policy.max_bytes = 4;
    expect_error<std::invalid_argument>("plan: this policy needs the data",
                                        [&] { plan_ranges(std::vector{range(0, 12)}, text.size(), policy); });
    Policy by_value;
    by_value.by.emplace().columns = {"a", "--by"};
    expect_error<std::invalid_argument>("plan: this policy needs the data",
                                        [&] { plan_ranges(std::vector{range(0, 12)}, text.size(), by_value); });
    const std::string json = range_text(range(0, 12), {12, "v"});
    check_malformed(json, range_text(range(4, 5), {12, "v"}));
    check_damaged(json);
}

}  // namespace cleave::test
