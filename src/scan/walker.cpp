#include "scan/walker.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "kernels/markup.h"
#include "scan/bits.h"
#include "scan/carry.h"

namespace cleave {
namespace {

// Bytes that the kernel marks in one call.
constexpr std::size_t kSliceSize = 256 * kStepSize;

// From here on both rules find the same records, whatever follows, until a byte that is suspect.
bool agree(State field_start, State anywhere) {
    const auto ended = [](State state) { return state == State::kRecordStart || state == State::kCarriageReturn; };
    return is_quoted(field_start) == is_quoted(anywhere) && is_escape(field_start) == is_escape(anywhere) &&
           ended(field_start) == ended(anywhere);
}

Rules rules_of(const Dialect& dialect) {
    return dialect.quoting == Quoting::kFieldStart ? Rules::kFieldStart : Rules::kAnywhere;
}

}  // namespace

Walker::Walker(const Dialect& dialect, const Kernel& kernel, std::uint64_t bom, bool compare_rules)
    : dialect_(dialect),
      kernel_(&kernel),
      markup_(markup_of(dialect)),
      field_start_(dialect, Quoting::kFieldStart),
      anywhere_(dialect, Quoting::kAnywhere),
      bom_(bom),
      rules_(compare_rules ? Rules::kBoth : rules_of(dialect)) {
    progress_.own = dialect.quoting == Quoting::kFieldStart ? 0 : 1;
    settle(State::kRecordStart);
}

Walker::Position Walker::position() const {
    if (!apart()) return {offset_, records(), state(), state(), std::nullopt};
    return {offset_, records(), state_of(progress_.field_start, dialect_.escape_scope),
            state_of(progress_.anywhere, dialect_.escape_scope), since_};
}

void Walker::seek(const Position& position) {
    seek(position.offset, position.records, position.field_start);
    if (!position.since) return;
    progress_.anywhere = carry_of(position.anywhere);
    progress_.apart = 1;
    since_ = *position.since;
}

void Walker::seek(std::uint64_t offset, std::uint64_t records, State state) {
    offset_ = offset;
    progress_.records = records;
    settle(state);
}

State Walker::state() const {
    const bool anywhere = rules_ == Rules::kAnywhere || (apart() && progress_.own != 0);
    return state_of(anywhere ? progress_.anywhere : progress_.field_start, dialect_.escape_scope);
}

// Where both rules are followed. One quote that is data by the other rule does not set them apart, but by this one it
// may be the first of two.
State Walker::state_by_anywhere() const {
    if (apart()) return state_of(progress_.anywhere, dialect_.escape_scope);
    const State agreed = state_of(progress_.field_start, dialect_.escape_scope);
    return agreed == State::kUnquoted && progress_.anywhere.after_quote != 0 ? State::kQuoteInQuoted : agreed;
}

bool Walker::exact() const { return rules_ != Rules::kAnywhere || escape_use(dialect_) == EscapeUse::kQuoted; }

// The rules agree, or only the dialect's own matters any more.
void Walker::settle(State state) {
    progress_.apart = 0;
    progress_.field_start = progress_.anywhere = carry_of(state);
}

std::span<const std::uint64_t> Walker::walk(std::span<const std::uint8_t> bytes) {
    starts_.resize((bytes.size() + kStepSize - 1) / kStepSize);
    for (std::uint64_t* starts = starts_.data(); !bytes.empty();) {
        const std::size_t done = advance(bytes, starts);
        starts += (done + kStepSize - 1) / kStepSize;
        bytes = bytes.subspan(done);
    }
    return starts_;
}

void Walker::pass(std::span<const std::uint8_t> bytes) {
    std::array<std::uint64_t, kSliceSize / kStepSize> starts;
    while (!bytes.empty()) bytes = bytes.subspan(advance(bytes, starts.data()));
}

// Takes some of the bytes and says how many: all, or a multiple of 64.
std::size_t Walker::advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts) {
    std::size_t done = offset_ >= bom_ ? mark(bytes.first(std::min(bytes.size(), kSliceSize)), starts) : 0;
    if (done == 0) {
        done = std::min(bytes.size(), kStepSize);
        *starts = step_exactly(bytes.first(done));
    }
    return done;
}

// As far as the masks tell; returns how far.
std::size_t Walker::mark(std::span<const std::uint8_t> slice, std::uint64_t* starts) {
    constexpr std::size_t kNot = SIZE_MAX;
    const std::uint64_t records = progress_.records;
    progress_.parted = kNot;
    const std::size_t done = kernel_->mark[static_cast<std::size_t>(rules_)][markup_.variant](
        markup_, slice.data(), slice.size(), progress_, starts);
    if (apart() && progress_.parted != kNot) since_ = find_parting(slice.first(done), starts, records);
    if (progress_.open_end != 0) last_open_ = offset_ + progress_.open_end - 1;
    offset_ += done;
    return done;
}

// Where in the step that progress_ tells of the rules parted. So many records started before the bytes.
Place Walker::find_parting(std::span<const std::uint8_t> bytes, const std::uint64_t* starts,
                           std::uint64_t records) const {
    Readers readers{state_of(progress_.before_parting[0], dialect_.escape_scope),
                    state_of(progress_.before_parting[1], dialect_.escape_scope), records, std::nullopt};
    for (std::size_t i = 0; i < progress_.parted / kStepSize; ++i) {
        readers.records += count_bits(starts[i]);
    }
    const std::size_t end = std::min(bytes.size(), progress_.parted + kStepSize);
    for (std::size_t i = progress_.parted; i < end; ++i) move(readers, offset_ + i, bytes[i]);
    return readers.since.value_or(Place{offset_ + progress_.parted, readers.records});  // if the bytes have changed
}

// One step by the state machine: at the byte order mark, where the rules start different records, and where the masks
// cannot decide. Returns the record starts.
std::uint64_t Walker::step_exactly(std::span<const std::uint8_t> step) {
    if (rules_ == Rules::kBoth) {
        if (const auto starts = step_by_both_rules(step)) return *starts;
    }
    std::uint64_t starts = 0;
    State state = this->state();
    for (std::size_t i = 0; i < step.size(); ++i, ++offset_) {
        const Transition transition = transition_at(offset_, dialect_.quoting, state, step[i]);
        starts |= std::uint64_t{transition.starts_record} << i;
        if (transition.opens_quote) last_open_ = offset_;
        state = transition.next;
    }
    settle(state);
    progress_.records += count_bits(starts);
    return starts;
}

// Follows both rules. Where they start different records it ends the comparison, takes nothing and returns nothing.
std::optional<std::uint64_t> Walker::step_by_both_rules(std::span<const std::uint8_t> step) {
    Readers readers{state_of(progress_.field_start, dialect_.escape_scope), state_by_anywhere(), progress_.records,
                    std::nullopt};
    if (apart()) readers.since = since_;
    std::uint64_t starts = 0;
    std::uint64_t last_open = last_open_;
    for (std::size_t i = 0; i < step.size(); ++i) {
        const std::optional<Transition> own = move(readers, offset_ + i, step[i]);
        if (!own) {
            divergence_ = readers.since;
            settle(progress_.own == 0 ? state() : state_by_anywhere());
            rules_ = rules_of(dialect_);
            return std::nullopt;
        }
        starts |= std::uint64_t{own->starts_record} << i;
        if (own->opens_quote) last_open = offset_ + i;
    }
    progress_.field_start = carry_of(readers.field_start);
    progress_.anywhere = carry_of(readers.anywhere);
    progress_.apart = readers.since ? 1 : 0;
    progress_.records = readers.records;
    if (readers.since) since_ = *readers.since;
    last_open_ = last_open;
    offset_ += step.size();
    return starts;
}

// Moves both readers on by a byte. Returns the transition by the dialect's own rule, or nothing if they start different
// records.
std::optional<Transition> Walker::move(Readers& readers, std::uint64_t offset, std::uint8_t byte) const {
    const Transition by_field_start = transition_at(offset, Quoting::kFieldStart, readers.field_start, byte);
    const Transition by_anywhere = transition_at(offset, Quoting::kAnywhere, readers.anywhere, byte);
    if (by_field_start.starts_record != by_anywhere.starts_record) return std::nullopt;
    readers.field_start = by_field_start.next;
    readers.anywhere = by_anywhere.next;
    readers.records += by_field_start.starts_record ? 1 : 0;
    if (agree(readers.field_start, readers.anywhere)) {
        readers.since.reset();
    } else if (!readers.since) {
        readers.since = Place{offset, readers.records - 1};
    }
    return dialect_.quoting == Quoting::kFieldStart ? by_field_start : by_anywhere;
}

// The machine's transition, but for the bytes of the byte order mark: they belong to the first record, and its first
// field starts after them.
Transition Walker::transition_at(std::uint64_t offset, Quoting quoting, State state, std::uint8_t byte) const {
    if (offset < bom_) return {State::kFieldStart, offset == 0, false};
    return (quoting == Quoting::kFieldStart ? field_start_ : anywhere_).step(state, byte);
}

Findings Walker::findings() const {
    Findings findings{offset_, records(), 0, std::nullopt, divergence_};
    if (is_quoted(state())) findings.open_quote = Place{last_open_, records() - 1};
    return findings;
}

}  // namespace cleave
