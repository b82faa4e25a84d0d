#include "cleave/value_pieces.h"

#include <stdexcept>
#include <utility>

#include "plan/limits.h"
#include "plan/value_plan.h"

namespace cleave {
namespace {

Policy checked_by(const Policy& policy) {
    if (!policy.by) throw std::invalid_argument("plan: pieces by value without columns");
    if (policy.by->drops_columns) throw std::invalid_argument("plan: ranges of the input have all columns");
    return policy;
}

}  // namespace

struct ValuePieces::State {
    State(const RecordIndex& index, const Policy& wanted)
        : policy(of_dialect(checked_by(wanted), index.dialect())), plan(index, policy) {
        plan.list_parts();
    }

    Policy policy;  // the plan refers to it
    ValuePlan plan;
};

ValuePieces::ValuePieces(const RecordIndex& index, const Policy& policy)
    : state_(std::make_unique<State>(index, policy)) {}
ValuePieces::ValuePieces(ValuePieces&&) noexcept = default;
ValuePieces& ValuePieces::operator=(ValuePieces&&) noexcept = default;
ValuePieces::~ValuePieces() = default;

std::uint64_t ValuePieces::header_size() const noexcept { return state_->plan.header_size(); }
const std::vector<Piece>& ValuePieces::pieces() const noexcept { return state_->plan.pieces(); }

std::span<const BlobRange> ValuePieces::ranges(std::uint64_t number) const {
    const std::span<const BlobRange> parts = state_->plan.parts(number);
    const bool has_header = header_size_in(state_->policy.header, number, header_size()) > 0;
    return parts.subspan(has_header ? 1 : 0);
}

std::vector<std::string> ValuePieces::values(std::uint64_t number) const { return state_->plan.values_of(number); }

}  // namespace cleave
