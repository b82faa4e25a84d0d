#include "cleave/pieces_by_value.h"

#include "cleave/error.h"
#include "core/offsets/limits.h"
#include "rows/values/plan_by_value.h"

namespace cleave {
namespace {

Policy checked_by(const Policy& policy) {
    if (!policy.by) throw ArgumentError("plan: pieces by value without columns");
    if (policy.by->drops_columns) throw ArgumentError("plan: ranges of the input have all columns");
    return policy;
}

}  // namespace

struct PiecesByValue::State {
    State(const RecordIndex& index, const Policy& wanted)
        : policy(of_dialect(checked_by(wanted), index.dialect())), plan(index, policy) {
        plan.list_parts();
    }

    Policy policy;  // the plan refers to it
    PlanByValue plan;
};

PiecesByValue::PiecesByValue(const RecordIndex& index, const Policy& policy)
    : state_(std::make_unique<State>(index, policy)) {}
PiecesByValue::PiecesByValue(PiecesByValue&&) noexcept = default;
PiecesByValue& PiecesByValue::operator=(PiecesByValue&&) noexcept = default;
PiecesByValue::~PiecesByValue() = default;

void PiecesByValue::check(std::uint64_t number, const State& state) {
    if (number == 0 || number > state.plan.pieces().size()) {
        throw ArgumentError("pieces: there is no piece " + std::to_string(number));
    }
}

std::uint64_t PiecesByValue::header_size() const noexcept { return state_->plan.header_size(); }
const std::vector<Piece>& PiecesByValue::pieces() const& noexcept { return state_->plan.pieces(); }

std::span<const BlobRange> PiecesByValue::ranges(std::uint64_t number) const& {
    check(number, *state_);
    const std::span<const BlobRange> parts = state_->plan.parts(number);
    const bool has_header = header_size_in(state_->policy.header, number, header_size()) > 0;
    return parts.subspan(has_header ? 1 : 0);
}

std::vector<std::string> PiecesByValue::values(std::uint64_t number) const {
    check(number, *state_);
    return state_->plan.values_of(number);
}

}  // namespace cleave
