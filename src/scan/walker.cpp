#include "scan/walker.h"

#include <algorithm>
#include <bit>

#include "kernels/markup.h"
#include "scan/carry.h"

namespace cleave {
namespace {

// Bytes that the kernel marks in one call: their marks fit the first cache.
constexpr std::size_t kSliceSize = 1024 * kStepSize;

// From here on both rules find the same records, whatever follows, until a byte that is suspect.
bool agree(State field_start, State anywhere) {
    const auto ended = [](State state) { return state == State::kRecordStart || state == State::kCarriageReturn; };
    return is_quoted(field_start) == is_quoted(anywhere) && is_escape(field_start) == is_escape(anywhere) &&
           ended(field_start) == ended(anywhere);
}

void mark(StepMarks& marks, std::size_t position, const Transition& transition) {
    marks.starts |= std::uint64_t{transition.starts_record} << position;
    marks.opens |= std::uint64_t{transition.opens_quote} << position;
}

}  // namespace

Walker::Walker(const Dialect& dialect, const Kernel& kernel, std::uint64_t bom, bool compare_rules)
    : dialect_(dialect),
      kernel_(&kernel),
      markup_(markup_of(dialect)),
      field_start_(dialect, Quoting::kFieldStart),
      anywhere_(dialect, Quoting::kAnywhere),
      bom_(bom),
      carry_(carry_of(State::kRecordStart)),
      compare_rules_(compare_rules),
      marks_(kSliceSize / kStepSize) {
    settle(State::kRecordStart);
}

void Walker::seek(std::uint64_t offset, std::uint64_t records, State state) {
    offset_ = offset;
    records_ = records;
    settle(state);
}

State Walker::state() const {
    if (!apart_) return state_of(carry_, dialect_.escape_scope);
    return dialect_.quoting == Quoting::kFieldStart ? apart_->field_start : apart_->anywhere;
}

// The rules agree, or only the dialect's own matters any more.
void Walker::settle(State state) {
    apart_.reset();
    carry_ = carry_of(state);
    exact_ = compare_rules_ || dialect_.quoting == Quoting::kFieldStart || escape_use(dialect_) == EscapeUse::kQuoted;
}

std::span<const std::uint64_t> Walker::walk(std::span<const std::uint8_t> bytes) {
    starts_.clear();
    while (!bytes.empty()) {
        std::size_t done = 0;
        if (offset_ >= bom_ && !apart_) {
            const std::size_t slice = std::min(bytes.size(), kSliceSize);
            done = kernel_->mark[markup_.variant](markup_, bytes.data(), slice, exact_, carry_, marks_.data());
            keep(std::span(marks_).first((done + kStepSize - 1) / kStepSize), done);
        }
        if (done == 0) {
            done = std::min(bytes.size(), kStepSize);
            step_exactly(bytes.first(done));
        }
        bytes = bytes.subspan(done);
    }
    return starts_;
}

// One step by the state machine: at the byte order mark, at suspect bytes, and where the rules are apart.
void Walker::step_exactly(std::span<const std::uint8_t> step) {
    if (compare_rules_ && step_by_both_rules(step)) return;
    State state = this->state();
    StepMarks marks{};
    for (std::size_t i = 0; i < step.size(); ++i) {
        const Transition transition = transition_at(offset_ + i, dialect_.quoting, state, step[i]);
        mark(marks, i, transition);
        state = transition.next;
    }
    settle(state);
    keep({&marks, 1}, step.size());
}

// Follows both rules. Where they cut differently it ends the comparison, keeps nothing and returns false.
bool Walker::step_by_both_rules(std::span<const std::uint8_t> step) {
    std::optional<Apart> apart = apart_;
    State field_start = apart ? apart->field_start : state();
    State anywhere = apart ? apart->anywhere : field_start;
    StepMarks marks{};
    for (std::size_t i = 0; i < step.size(); ++i) {
        const Transition by_field_start = transition_at(offset_ + i, Quoting::kFieldStart, field_start, step[i]);
        const Transition by_anywhere = transition_at(offset_ + i, Quoting::kAnywhere, anywhere, step[i]);
        if (by_field_start.starts_record != by_anywhere.starts_record) {
            divergence_ = apart->since;
            compare_rules_ = false;
            return false;
        }
        mark(marks, i, dialect_.quoting == Quoting::kFieldStart ? by_field_start : by_anywhere);
        field_start = by_field_start.next;
        anywhere = by_anywhere.next;
        if (agree(field_start, anywhere)) {
            apart.reset();
        } else {
            const std::uint64_t records = records_ + static_cast<std::uint64_t>(std::popcount(marks.starts));
            apart = Apart{field_start, anywhere, apart ? apart->since : Place{offset_ + i, records - 1}};
        }
    }
    settle(field_start);
    apart_ = apart;
    keep({&marks, 1}, step.size());
    return true;
}

// The machine's transition, but for the bytes of the byte order mark: they belong to the first record, and its first
// field starts after them.
Transition Walker::transition_at(std::uint64_t offset, Quoting quoting, State state, std::uint8_t byte) const {
    if (offset < bom_) return {State::kFieldStart, offset == 0, false};
    return (quoting == Quoting::kFieldStart ? field_start_ : anywhere_).step(state, byte);
}

// Takes over the marks of the `size` bytes from offset_ on.
void Walker::keep(std::span<const StepMarks> marks, std::size_t size) {
    for (std::size_t i = 0; i < marks.size(); ++i) {
        starts_.push_back(marks[i].starts);
        records_ += static_cast<std::uint64_t>(std::popcount(marks[i].starts));
        if (marks[i].opens != 0) {
            last_open_ = offset_ + i * kStepSize + static_cast<std::uint64_t>(std::bit_width(marks[i].opens)) - 1;
        }
    }
    offset_ += size;
}

Findings Walker::findings() const {
    Findings findings{offset_, records_, std::nullopt, divergence_};
    if (is_quoted(state())) findings.open_quote = Place{last_open_, records_ - 1};
    return findings;
}

}  // namespace cleave
