// Computes plans in both possible ways, and checks what every plan must satisfy.
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

// The plan that plan_pieces returns.
Plan plan_of_index(const RecordIndex& index, const Policy& policy);
Plan plan_of_bytes(const std::string& text, const Dialect& dialect, const Execution& execution, const Policy& policy);

// The plan that cut_stream computes from an input that streams the text. Expects the sink to be called in order, and to
// get the header and the bytes of the pieces.
struct StreamedPlan {
    Plan plan;
    Findings findings;
};
StreamedPlan plan_of_stream(Input& input, const std::string& text, const Dialect& dialect, const Execution& execution,
                            const Policy& policy);

// The same from a pipe through which the text arrives in parts of these sizes. Expects the reference's findings.
Plan plan_of_stream(const std::string& text, const Dialect& dialect, const Policy& policy,
                    std::vector<std::size_t> part_sizes);

// The plan that cut_stream computes from a mapped file with the text, which must not be empty.
Plan plan_in_order(const std::string& text, const Dialect& dialect, const Policy& policy);

// For a policy with a number of pieces: expects plan_piece to return each piece of the plan.
void expect_single_pieces(const Plan& plan, const std::string& text, const Dialect& dialect, const Policy& policy);

void expect_same(const Plan& of_stream, const Plan& of_bytes);

// Checks plans against cleave-split(1), "How to cut".
class PlanCheck {
public:
    PlanCheck(const std::string& text, const Dialect& dialect, const Policy& policy)
        : text_(text),
          dialect_(dialect),
          reading_(read_by_rules(text, dialect)),
          policy_(in_dialect(policy, dialect)),
          body_(reading_.start_of(policy_.header == HeaderMode::kNone ? std::min<std::uint64_t>(dialect.preamble, 1)
                                                                      : header_records(text, dialect))) {}

    // Whether there is a plan: there is none if a repeated header is larger than the size limit.
    bool has_plan() const { return !policy_.max_bytes || header_in(2) <= *policy_.max_bytes; }
    // Expects both ways of planning to refuse the policy, and a stream's sink to get no piece.
    void expect_refusal() const;
    // Pieces tile the body and end at boundaries. Each obeys the limits, and could not have taken one more record.
    void expect_limits(const Plan& plan) const;
    // Pieces tile the body and end at boundaries. Each starts at the first boundary at or after its even share.
    void expect_shares(const Plan& plan) const;
    // For policies with an alignment: all of the above, and the cuts are aligned where an aligned cut exists.
    void expect_aligned(const Plan& plan) const;
    // For a policy with Balance::kRecords.
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

// Random limits on the number of records, on the size, or on both.
Policy random_limits(Random& random, std::size_t largest_size);

}  // namespace cleave::test
