// Pieces by value as plain data: the ranges of the input that each of them consists of. Writes nothing; run_job() does.
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

// Any thread may use it. Memory: while planning, about 70 bytes plus the value itself for each distinct value, in each
// thread; and 16 bytes per range, which are in an unlinked temporary file if they exceed 1 MiB.
class PiecesByValue {
public:
    // Policy::by must be set, and must not drop columns. Uses as many threads as the index was made with. Throws
    // ArgumentError for a bad policy, ValueLimitError, PieceCountError, HeaderSizeError, RuleError, InputError
    // for a record without the field or a header that is too long, InputChangedError if the bytes do not match the
    // index, Cancelled, SystemError.
    PiecesByValue(const RecordIndex& index, const Policy& policy);
    PiecesByValue(PiecesByValue&&) noexcept;
    PiecesByValue& operator=(PiecesByValue&&) noexcept;
    ~PiecesByValue();

    // The size of the header, as plan_pieces() returns it.
    std::uint64_t header_size() const noexcept;
    // Pieces in the order of their first records; buckets and parts in the order of the policy. Valid for as long as
    // this object exists.
    const std::vector<Piece>& pieces() const& noexcept;
    std::vector<Piece> pieces() const&& { return pieces(); }
    // Throws ArgumentError, as values() does, if there is no such piece.
    // The records of piece `number`, from 1, in the order of the input, without the header. Neighbouring records may
    // share a range. Valid for as long as this object exists, even if it is moved.
    std::span<const BlobRange> ranges(std::uint64_t number) const&;
    std::span<const BlobRange> ranges(std::uint64_t number) const&& = delete;
    // The values that the records of the piece have in the columns of the policy; none for buckets and parts.
    std::vector<std::string> values(std::uint64_t number) const;

private:
    struct State;
    static void check(std::uint64_t number, const State& state);

    std::unique_ptr<State> state_;
};
using ValuePieces [[deprecated("PiecesByValue")]] = PiecesByValue;  // until 0.3

}  // namespace cleave
