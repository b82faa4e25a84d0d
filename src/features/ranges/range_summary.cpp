// How summaries of ranges compose. A reader enters the first range in one state and leaves it in another, which is the
// state in which it enters the second range. So each row of the composed summary is a row of the first range, followed
// by the row of the second range to which it leads.
#include "cleave/experimental/range_summary.h"

#include "cleave/error.h"
#include "features/ranges/range_machine.h"

namespace cleave {
namespace {

RangeRow followed(const RangeRow& first, const RangeSummary& second) {
    if (first.exit == RangeState::kNone) return {};
    const RangeRow& then = second.row(first.exit);
    if (then.exit == RangeState::kNone) return {};
    RangeRow sum = first;
    sum.records += then.records;
    if (sum.first == kNoOffset) sum.first = then.first;
    if (then.last != kNoOffset) sum.last = then.last;
    if (sum.header == kNoOffset && then.header != kNoOffset) {
        sum.header = then.header;
        sum.header_records = first.records + then.header_records;
    }
    if (then.open != kBeforeRange) sum.open = then.open;
    sum.exit = then.exit;
    return sum;
}

RulesRow followed(const RulesRow& first, const RangeRow& own, const RangeSummary& second) {
    if (first.differ || first.exit == RangeState::kNone) return first;
    if (own.exit == RangeState::kNone) return {};
    const RulesRow& then = second.row(own.exit, first.exit);
    RulesRow sum = then;
    if (then.parted == kBeforeRange) sum.parted = first.parted;
    if (then.differ) sum.records += own.records;
    return sum;
}

}  // namespace

RangeSummary compose(const RangeSummary& first, const RangeSummary& second) {
    if (first.end != second.begin) throw ArgumentError("compose: the second range does not follow the first");
    if (first.dialect != second.dialect) throw ArgumentError("compose: the dialects differ");
    RangeSummary sum;
    sum.begin = first.begin;
    sum.end = second.end;
    sum.dialect = first.dialect;
    for (std::size_t i = 0; i < kRangeStateCount; ++i) sum.states[i] = followed(first.states[i], second);
    for (std::size_t i = 0; i < first.rules.size(); ++i) {
        constexpr std::size_t kPairs = kExactStateCount * kExactStateCount;
        const std::size_t own = i < kPairs ? i / kExactStateCount : i - kPairs + kExactStateCount;
        sum.rules[i] = followed(first.rules[i], first.states[own], second);
    }
    return sum;
}

}  // namespace cleave
