// The arithmetic that decides where a piece ends, shared by everything that cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cleave/plan.h"

namespace cleave {

constexpr std::uint64_t kUnlimited = UINT64_MAX;

// Returns `policy`, without a header if the dialect has none.
inline Policy of_dialect(Policy policy, const Dialect& dialect) {
    policy.header = header_mode(policy.header, dialect);
    return policy;
}

// is_by_records_alone() tells whether the policy sets only a number of records; is_by_pieces_alone(), whether it sets
// only a number of pieces and possibly a balance. They compare all members, so a caller that supports only such
// policies also refuses limits that are added later.
inline bool is_by_records_alone(const Policy& policy) {
    Policy plain;
    plain.header = policy.header;
    plain.records = policy.records;
    return policy.records && policy == plain;
}
inline bool is_by_pieces_alone(const Policy& policy) {
    Policy plain;
    plain.header = policy.header;
    plain.pieces = policy.pieces;
    plain.balance = policy.balance;
    return policy.pieces && policy == plain;
}

// The limits of one piece under a policy that sets `records`, `size` or both.
struct Limits {
    std::uint64_t records;
    std::uint64_t size;  // of the body
};

// Throws HeaderSizeError if a header that must be repeated does not fit into a piece.
inline void check_header_size(const Policy& policy, std::uint64_t header_size,
                              const std::optional<Findings>& findings = std::nullopt) {
    const std::uint64_t repeated = header_size_in(policy.header, 2, header_size);
    if (policy.max_bytes && repeated > *policy.max_bytes) throw HeaderSizeError(header_size, findings);
}

// Throws PieceCountError. `things` is "pieces" or "buckets".
inline void check_piece_count(const char* things, std::uint64_t count, std::uint64_t records) {
    const std::uint64_t most = std::max(records, kMostSparePieces);
    if (count <= most) return;
    throw PieceCountError(std::to_string(count) + ' ' + things + " are too many for " + std::to_string(records) +
                          " records; the most is " + std::to_string(most));
}

// Where the bytes to be divided begin, if the policy sets the number of pieces. A header that goes only into the first
// piece counts towards that piece's share.
inline std::uint64_t shared_from(const Policy& policy, std::uint64_t header_size) {
    return policy.header == HeaderMode::kFirst ? 0 : header_size;
}

// The lowest offset at which piece `number` + 1 may start if the policy sets the number of pieces: the end of the first
// `number` equal shares.
inline std::uint64_t share_end(const Policy& policy, std::uint64_t number, std::uint64_t header_size,
                               std::uint64_t input_size) {
    __extension__ using Wide = unsigned __int128;  // for the product of two offsets
    const std::uint64_t from = shared_from(policy, header_size);
    const std::uint64_t size = input_size - from;
    const auto share = static_cast<std::uint64_t>(static_cast<Wide>(size) * number / *policy.pieces);
    return std::max(header_size, from + share);
}

inline Limits limits_of(const Policy& policy, std::uint64_t piece_number, std::uint64_t header_size) {
    Limits limits{policy.records.value_or(kUnlimited), kUnlimited};
    if (policy.max_bytes) {
        const std::uint64_t header = header_size_in(policy.header, piece_number, header_size);
        limits.size = *policy.max_bytes - std::min(*policy.max_bytes, header);
    }
    return limits;
}

// Whether a piece with this size in bytes and this many records is within the limits.
inline bool is_within(const Limits& limits, std::uint64_t size, std::uint64_t records) {
    return records <= limits.records && size <= limits.size;
}

}  // namespace cleave
