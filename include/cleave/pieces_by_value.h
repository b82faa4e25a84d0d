// Pieces by value as plain data: which ranges of the input each of them consists of. Writes nothing; run_job() does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cleave/blob.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

// Any thread. Memory: for each different value about 70 bytes and the value for each thread while it is planned, and 16
// bytes a range, which lie in an unlinked temporary file if they are more than 1 MiB.
class PiecesByValue {
public:
    // The policy has Policy::by, which drops no columns. Works with as many threads as the index was made with. Throws
    // std::invalid_argument for a bad policy, KeyLimitError, PieceCountError, HeaderSizeError, RuleError, InputError
    // for a record without the field and for a header that is too long, InputChangedError if the bytes are not those of
    // the index, Cancelled, std::system_error.
    PiecesByValue(const RecordIndex& index, const Policy& policy);
    PiecesByValue(PiecesByValue&&) noexcept;
    PiecesByValue& operator=(PiecesByValue&&) noexcept;
    ~PiecesByValue();

    // As plan_pieces() returns it.
    std::uint64_t header_size() const noexcept;
    // In order of their first records; buckets in order of their numbers. Valid as long as this object.
    const std::vector<Piece>& pieces() const noexcept;
    // The records of piece `number`, from 1, in the order of the input, without the header. Neighbours may be one
    // range. Valid as long as this object, also if it is moved.
    std::span<const BlobRange> ranges(std::uint64_t number) const;
    // The values that the records of the piece have in the columns of the policy; none for buckets.
    std::vector<std::string> values(std::uint64_t number) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};
using ValuePieces [[deprecated("PiecesByValue")]] = PiecesByValue;  // until 0.3

}  // namespace cleave
