#include "core/scan/comparing_walker.h"

#include <algorithm>
#include <array>

#include "cleave/foreign.h"
#include "core/dialect/check_arguments.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"
#include "core/scan/check_arguments.h"

namespace cleave {
namespace {

// Stretches grow for as long as suspect bytes are close together.
constexpr std::size_t kMinStretchSize = 2 * kStepSize;
constexpr std::size_t kMaxStretchSize = 64 * kStepSize;

}  // namespace

Dialect by_other_rule(Dialect dialect) {
    dialect.quoting = dialect.quoting == Quoting::kFieldStart ? Quoting::kAnywhere : Quoting::kFieldStart;
    return dialect;
}

ComparingWalker::ComparingWalker(const Dialect& dialect, const Kernel& kernel, const Lead& lead)
    : Walker(dialect, kernel, lead), other_(by_other_rule(dialect), kernel, lead), stretch_size_(kMinStretchSize) {}

bool ComparingWalker::heeds_suspects() const {
    return compares() || dialect_.quoting == Quoting::kFieldStart || escape_use(dialect_) == EscapeUse::kQuoted;
}

void ComparingWalker::compare_from(std::uint64_t offset, std::uint64_t records, State state) {
    seek(offset, records, state);
    apart_ = false;
    parted_.reset();
    divergence_.reset();
}

void ComparingWalker::compare_from(std::uint64_t offset, State own, State other, std::uint64_t parted) {
    compare_from(offset, 0, own);
    position_.open_end = 0;
    other_.seek(offset, 0, other);
    apart_ = own != other;
    if (!agree(own, other)) parted_ = Place{parted, 0};
}

std::size_t ComparingWalker::advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts) {
    if (!compares()) return Walker::advance(bytes, starts);
    if (!apart_) {
        if (const std::size_t done = mark(Rules::kBoth, bytes, starts); done != 0) {
            stretch_size_ = kMinStretchSize;
            return done;
        }
        other_.position_ = position_;
    }
    if (trail_.empty()) {
        trail_ = bytes.first(0);
        before_ = position_;
        other_before_ = other_.position_;
    }
    const auto stretch = bytes.first(std::min(bytes.size(), stretch_size_));
    stretch_size_ = std::min(2 * stretch_size_, kMaxStretchSize);
    trail_ = {trail_.data(), trail_.size() + stretch.size()};
    std::array<std::uint64_t, kMaxStretchSize / kStepSize> other_starts;
    read(stretch, starts);
    other_.read(stretch, other_starts.data());
    const std::size_t steps = (stretch.size() + kStepSize - 1) / kStepSize;
    if (!std::equal(starts, starts + steps, other_starts.begin())) {
        find_parting();
        divergence_ = parted_;
        apart_ = false;
    } else {
        apart_ = state() != other_.state();
        if (const auto last = last_of({starts, steps}); last && apart_) {  // the modes agreed at that record start
            trail_ = stretch.subspan(*last);
            const std::uint64_t offset = position_.offset - trail_.size();
            before_ = other_before_ = {carry_of(State::kRecordStart), offset, records() - 1, 0};
            parted_.reset();
        }
        if (apart_ && stretch.size() == bytes.size()) find_parting();
    }
    if (!apart_) parted_.reset();
    if (!apart_ || stretch.size() == bytes.size()) trail_ = {};
    return stretch.size();
}

// Follows the trail again in both modes, byte by byte, up to where they start different records or to its end.
void ComparingWalker::find_parting() {
    State own = state_of(before_.carry, dialect_.escape_scope);
    State other = state_of(other_before_.carry, dialect_.escape_scope);
    std::uint64_t offset = before_.offset;
    std::uint64_t records = before_.records;
    for (const std::uint8_t byte : trail_) {
        const Transition by_own = transition_at(offset, own, byte);
        const Transition by_other = other_.transition_at(offset, other, byte);
        if (by_own.starts_record != by_other.starts_record) return;
        own = by_own.next;
        other = by_other.next;
        records += by_own.starts_record ? 1 : 0;
        if (agree(own, other)) {
            parted_.reset();
        } else if (!parted_) {
            parted_ = Place{offset, records - 1};
        }
        ++offset;
    }
}

Findings ComparingWalker::findings() const {
    return {offset(), records(), 0, offset() > 0 ? lead().records() : 0, open_quote(), divergence_};
}

ComparingWalker walker_of(Input& input, const Dialect& dialect, const Execution& execution) {
    const Kernel& kernel = checked_kernel(execution);
    const auto head = input.peek(kSniffSize);
    refuse_foreign(head);
    return {checked(dialect), kernel, lead_of(head, dialect)};
}

}  // namespace cleave
