#include "plan/contract.h"

#include <stdexcept>
#include <string>

namespace cleave {

const Policy& checked(const Policy& policy) {
    if (!policy.records && !policy.size && !policy.pieces) throw std::invalid_argument("policy: no limit is set");
    if (policy.pieces && (policy.records || policy.size)) {
        throw std::invalid_argument("policy: pieces and the other limits exclude each other");
    }
    if (policy.records == 0 || policy.size == 0 || policy.pieces == 0) {
        throw std::invalid_argument("policy: a limit is at least 1");
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
