// Plans, made the two ways there are, and what every plan has to satisfy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "cleave/plan.h"
#include "inputs.h"
#include "reference.h"

namespace cleave::test {

struct Plan {
    std::uint64_t header_size = 0;
    std::vector<Piece> pieces;
};

std::string describe(const Policy& policy);
std::string printed(const Piece& piece);

// By plan_pieces.
Plan plan_of_bytes(const std::string& text, const Dialect& dialect, const Execution& execution, const Policy& policy);

// By cut_stream, of an input that is a stream of the text. Expects that the calls of the sink come in order, and that
// it gets the header and the bytes of the pieces.
struct StreamedPlan {
    Plan plan;
    Findings findings;
};
StreamedPlan plan_of_stream(Input& input, const std::string& text, const Dialect& dialect, const Execution& execution,
                            const Policy& policy);

// The same through a pipe in parts of these sizes. Expects the reference's findings.
Plan plan_of_stream(const std::string& text, const Dialect& dialect, const Policy& policy,
                    std::vector<std::size_t> part_sizes);

// By cut_stream, of an input that is a mapped file of the text. The text must not be empty.
Plan plan_in_order(const std::string& text, const Dialect& dialect, const Policy& policy);

// Of a policy by pieces: plan_piece gives each piece of the plan.
void expect_single_pieces(const Plan& plan, const std::string& text, const Dialect& dialect, const Policy& policy);

void expect_same(const Plan& of_stream, const Plan& of_bytes);

// Judges plans by the rules of man/cleave.1, "How to cut".
class PlanCheck {
public:
    PlanCheck(const std::string& text, const Dialect& dialect, const Policy& policy)
        : text_(text),
          dialect_(dialect),
          reading_(read_by_rules(text, dialect)),
          policy_(in_dialect(policy, dialect)),
          body_(reading_.start_of(policy_.header == HeaderMode::kNone ? std::min<std::uint64_t>(dialect.preamble, 1)
                                                                      : header_records(text, dialect))) {}

    // Whether there is a plan: not if the header that is repeated is larger than the size.
    bool has_plan() const { return !policy_.size || header_in(2) <= *policy_.size; }
    // Expects that neither way of planning takes the policy, and that a stream's sink is not given a piece.
    void expect_refusal() const;
    // Pieces tile the body and end at boundaries; and each obeys the limits, and could not have taken one record more.
    void expect_limits(const Plan& plan) const;
    // Pieces tile the body and end at boundaries; and each starts at the first boundary after its even share.
    void expect_shares(const Plan& plan) const;
    // Of policies with an alignment, all of the above and: the cuts are the aligned ones where there are such.
    void expect_aligned(const Plan& plan) const;
    // Of a policy with Balance::kRecords.
    void expect_equal_records(const Plan& plan) const;

private:
    static Policy in_dialect(Policy policy, const Dialect& dialect) {
        if (dialect.header == HeaderRecord::kNone) policy.header = HeaderMode::kNone;
        return policy;
    }
    void expect_tiles(const Plan& plan) const;
    void expect_limits(const Piece& piece) const;
    std::uint64_t header_in(std::uint64_t number) const;
    std::uint64_t share_target(std::uint64_t number) const;
    std::vector<std::uint64_t> aligned_starts(std::uint64_t number, std::uint64_t first, std::uint64_t last) const;
    std::uint64_t aligned_end(const Piece& piece) const;

    std::string text_;
    Dialect dialect_;
    Reading reading_;
    Policy policy_;
    Boundary body_;
};

inline constexpr HeaderMode kHeaderModes[] = {HeaderMode::kRepeat, HeaderMode::kFirst, HeaderMode::kDrop,
                                              HeaderMode::kNone};

// Records or size or both.
Policy random_limits(Random& random, std::size_t largest_size);

}  // namespace cleave::test
