#include "core/offsets/check_arguments.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"

namespace cleave {

namespace {

void check(const std::vector<Part>& parts) {
    if (parts.size() > ByValue::kMostParts)
        throw ArgumentError("policy: there can be at most " + std::to_string(ByValue::kMostParts) + " parts");
    std::set<std::string> names;
    std::uint64_t sum = 0;
    for (const Part& part : parts) {
        if (part.name.empty()) throw ArgumentError("policy: a part needs a name");
        if (!names.insert(part.name).second) throw ArgumentError("policy: two parts are named " + part.name);
        if (part.weight == 0) throw ArgumentError("policy: the weight of a part must be at least 1");
        if (__builtin_add_overflow(sum, part.weight, &sum))
            throw ArgumentError("policy: the sum of the weights must be below 2^64");
    }
}

void check(const ByValue& by, const Policy& policy) {
    if (policy.pieces || policy.together || policy.alignment != 0) {
        throw ArgumentError("policy: by cannot be used with pieces, together or an alignment");
    }
    if (by.max_values == 0 || by.max_values > ByValue::kMostValues) {
        throw ArgumentError("policy: the number of values must be at least 1 and at most " +
                            std::to_string(ByValue::kMostValues));
    }
    if (by.buckets && (*by.buckets == 0 || *by.buckets > ByValue::kMostValues)) {
        throw ArgumentError("policy: the number of buckets must be at least 1 and at most " +
                            std::to_string(ByValue::kMostValues));
    }
    check(by.parts);
    if (by.buckets && !by.parts.empty()) throw ArgumentError("policy: buckets cannot be used with parts");
    if (by.has_fixed_pieces() && (policy.records || policy.max_bytes))
        throw ArgumentError("policy: buckets and parts cannot be used with records or max_bytes");
    if (by.is_draw() && by.drops_columns) throw ArgumentError("policy: parts without columns cannot drop columns");
}

}  // namespace

const Policy& checked_for_ranges(const Policy& policy) {
    if (policy.by) throw ArgumentError("plan: cannot plan pieces by value; use PiecesByValue or run_job()");
    return checked(policy);
}

Policy Policy::by_records(std::uint64_t count) {
    Policy policy;
    policy.records = count;
    return checked(policy);
}

Policy Policy::by_max_bytes(std::uint64_t size) {
    Policy policy;
    policy.max_bytes = size;
    return checked(policy);
}

Policy Policy::into_pieces(std::uint64_t count, Balance balance) {
    Policy policy;
    policy.pieces = count;
    policy.balance = balance;
    return checked(policy);
}

Policy Policy::by_column(const std::string& columns) {
    if (columns.empty()) throw ArgumentError("policy: by_column needs the name of a column");
    Policy policy;
    policy.by = ByValue{RuleText{columns, "by_column"}};
    return checked(policy);
}

Policy Policy::into_parts(std::vector<Part> parts, const std::string& columns, std::uint64_t seed) {
    if (parts.empty()) throw ArgumentError("policy: into_parts needs a part");
    Policy policy;
    ByValue& by = policy.by.emplace(ByValue{RuleText{columns, "into_parts"}});
    by.parts = std::move(parts);
    by.seed = seed;
    return checked(policy);
}

const Policy& checked(const Policy& policy) {
    if (policy.by) check(*policy.by, policy);
    if (!policy.records && !policy.max_bytes && !policy.pieces && !policy.by) {
        throw ArgumentError("policy: no limit is set");
    }
    if (policy.pieces && (policy.records || policy.max_bytes)) {
        throw ArgumentError("policy: pieces cannot be used with records or max_bytes");
    }
    if (policy.records == 0 || policy.max_bytes == 0 || policy.pieces == 0) {
        throw ArgumentError("policy: a limit must be at least 1");
    }
    if (policy.alignment > kMaxGridStep) {
        throw ArgumentError("policy: the alignment is larger than " + std::to_string(kMaxGridStep));
    }
    if (policy.balance == Balance::kRecords && (!policy.pieces || policy.alignment != 0)) {
        throw ArgumentError("policy: a balance of records needs pieces, and no alignment");
    }
    return policy;
}

}  // namespace cleave
