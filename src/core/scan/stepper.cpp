#include "core/scan/stepper.h"

#include <algorithm>
#include <bit>

#include "base/bits.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"

namespace cleave {

Stepper::Stepper(const Dialect& dialect, const Kernel& kernel, const Lead& lead)
    : dialect_(dialect), kernel_(&kernel), markup_(markup_of(dialect)), lead_(lead) {
    seek(0, 0, State::kRecordStart);
}

void Stepper::seek(std::uint64_t offset, std::uint64_t records, State state) {
    position_.carry = carry_of(state);
    position_.offset = offset;
    position_.records = records;
}

State Stepper::state() const { return state_of(position_.carry, dialect_.escape_scope); }

void Stepper::read(std::span<const std::uint8_t> bytes, std::uint64_t* starts) {
    const Rules rules = dialect_.quoting == Quoting::kFieldStart ? Rules::kFieldStart : Rules::kAnywhere;
    while (!bytes.empty()) {
        std::size_t done = mark(rules, bytes, starts);
        if (done == 0) {
            done = std::min(bytes.size(), kStepSize);
            *starts = step_exactly(bytes.first(done));
        }
        starts += (done + kStepSize - 1) / kStepSize;
        bytes = bytes.subspan(done);
    }
}

// Lets the kernel mark record starts until it stops, and returns how many bytes it processed. The kernel knows nothing
// about leads.
std::size_t Stepper::mark(Rules rules, std::span<const std::uint8_t> bytes, std::uint64_t* starts) {
    if (position_.offset < lead_.size) return 0;
    return kernel_->mark[static_cast<std::size_t>(rules)][markup_.variant](
        markup_, bytes.data(), std::min(bytes.size(), kSliceSize), position_, starts);
}

// Runs the state machine over at most 64 bytes, and returns their record starts.
std::uint64_t Stepper::step_exactly(std::span<const std::uint8_t> step) {
    std::uint64_t starts = 0;
    State state = this->state();
    for (std::size_t i = 0; i < step.size(); ++i) {
        const Transition transition = transition_at(position_.offset++, state, step[i]);
        starts |= std::uint64_t{transition.starts_record} << i;
        if (transition.opens_quote) position_.open_end = position_.offset;
        state = transition.next;
    }
    position_.carry = carry_of(state);
    position_.records += count_bits(starts);
    return starts;
}

// The state machine's transition, except in the lead. A byte order mark belongs to the first record, whose first field
// starts after it. A preamble is the first record, and it ends that record whatever its last byte is.
Transition Stepper::transition_at(std::uint64_t offset, State state, std::uint8_t byte) {
    if (offset < lead_.size) {
        const bool ends_record = lead_.is_preamble && offset + 1 == lead_.size;
        return {ends_record ? State::kRecordStart : State::kFieldStart, offset == 0, false};
    }
    if (!machine_) machine_.emplace(dialect_);
    return machine_->step(state, byte);
}

std::optional<std::size_t> last_start(std::span<const std::uint64_t> starts) {
    std::size_t words = starts.size();
    while (words > 0 && starts[words - 1] == 0) --words;
    if (words == 0) return std::nullopt;
    return words * kStepSize - 1 - static_cast<std::size_t>(std::countl_zero(starts[words - 1]));
}

}  // namespace cleave
