// What ends a piece: the arithmetic of all who cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "cleave/plan.h"

namespace cleave {

constexpr std::uint64_t kUnlimited = UINT64_MAX;

// `policy`, without a header if the dialect has none.
inline Policy of_dialect(Policy policy, const Dialect& dialect) {
    policy.header = header_mode(policy.header, dialect);
    return policy;
}

// Whether the policy counts records, and asks for nothing else; or divides the input, and asks for nothing else but a
// balance. All members are compared, so a caller that supports no more refuses a limit that is added later.
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

// The limits of one piece of a policy by records or size.
struct Limits {
    std::uint64_t records;
    std::uint64_t size;  // of the body
};

// Throws HeaderSizeError if a header that is to be repeated does not fit a piece.
inline void check_header_size(const Policy& policy, std::uint64_t header_size,
                              const std::optional<Findings>& findings = std::nullopt) {
    const std::uint64_t repeated = header_size_in(policy.header, 2, header_size);
    if (policy.size && repeated > *policy.size) throw HeaderSizeError(header_size, findings);
}

// Throws PieceCountError. `things` is "pieces" or "buckets".
inline void check_piece_count(const char* things, std::uint64_t count, std::uint64_t records) {
    const std::uint64_t most = std::max(records, kMostSparePieces);
    if (count <= most) return;
    throw PieceCountError(std::to_string(count) + ' ' + things + " are too many for " + std::to_string(records) +
                          " records; the most is " + std::to_string(most));
}

// The start of the bytes that a policy by pieces divides. A header that goes into the first piece alone counts in that
// piece's share.
inline std::uint64_t shared_from(const Policy& policy, std::uint64_t header_size) {
    return policy.header == HeaderMode::kFirst ? 0 : header_size;
}

// The least offset at which piece `number` + 1 of a policy by pieces may start: the end of `number` even shares.
inline std::uint64_t share_end(const Policy& policy, std::uint64_t number, std::uint64_t header_size,
                               std::uint64_t input_size) {
    __extension__ using Wide = unsigned __int128;  // a product of two offsets
    const std::uint64_t from = shared_from(policy, header_size);
    const std::uint64_t size = input_size - from;
    const auto share = static_cast<std::uint64_t>(static_cast<Wide>(size) * number / *policy.pieces);
    return std::max(header_size, from + share);
}

inline Limits limits_of(const Policy& policy, std::uint64_t piece_number, std::uint64_t header_size) {
    Limits limits{policy.records.value_or(kUnlimited), kUnlimited};
    if (policy.size) {
        const std::uint64_t header = header_size_in(policy.header, piece_number, header_size);
        limits.size = *policy.size - std::min(*policy.size, header);
    }
    return limits;
}

// Whether a piece of so many bytes and records is no larger than the policy wants.
inline bool is_within(const Limits& limits, std::uint64_t size, std::uint64_t records) {
    return records <= limits.records && size <= limits.size;
}

}  // namespace cleave
