#include "plan/check_arguments.h"

#include <stdexcept>
#include <string>

namespace cleave {

namespace {

void check(const ByValue& by, const Policy& policy) {
    if (policy.pieces || policy.together || policy.alignment != 0) {
        throw std::invalid_argument("policy: by cannot be used with pieces, together or an alignment");
    }
    if (by.max_keys == 0 || by.max_keys > ByValue::kMostKeys) {
        throw std::invalid_argument("policy: the number of values must be at least 1 and at most " +
                                    std::to_string(ByValue::kMostKeys));
    }
    if (!by.buckets) return;
    if (*by.buckets == 0 || *by.buckets > ByValue::kMostKeys) {
        throw std::invalid_argument("policy: the number of buckets must be at least 1 and at most " +
                                    std::to_string(ByValue::kMostKeys));
    }
    if (policy.records || policy.size)
        throw std::invalid_argument("policy: buckets cannot be used with records or size");
}

}  // namespace

const Policy& checked_for_ranges(const Policy& policy) {
    if (policy.by) throw std::invalid_argument("plan: cannot plan pieces by value; use ValuePieces or run_job()");
    return checked(policy);
}

const Policy& checked(const Policy& policy) {
    if (policy.by) check(*policy.by, policy);
    if (!policy.records && !policy.size && !policy.pieces && !policy.by) {
        throw std::invalid_argument("policy: no limit is set");
    }
    if (policy.pieces && (policy.records || policy.size)) {
        throw std::invalid_argument("policy: pieces cannot be used with records or size");
    }
    if (policy.records == 0 || policy.size == 0 || policy.pieces == 0) {
        throw std::invalid_argument("policy: a limit must be at least 1");
    }
    if (policy.alignment > kMaxGridStep) {
        throw std::invalid_argument("policy: the alignment is larger than " + std::to_string(kMaxGridStep));
    }
    if (policy.balance == Balance::kRecords && (!policy.pieces || policy.alignment != 0)) {
        throw std::invalid_argument("policy: a balance of records is for pieces that are not aligned");
    }
    return policy;
}

}  // namespace cleave
