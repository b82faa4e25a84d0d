// Where to cut: policies, and the pieces they make. A plan is plain data. Knows nothing about writing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/scan.h"
#include "cleave/stage.h"

namespace cleave {

// Whether there is a header, and where it goes. The dialect's HeaderRecord says which record is the header. The
// preamble and empty records before that record belong to the header. Under HeaderRecord::kNone all modes are kNone.
enum class HeaderMode : std::uint8_t {
    kRepeat,  // into every piece
    kFirst,   // into the first piece
    kDrop,    // nowhere
    kNone,    // there is no header: all records are alike; a preamble goes into every piece
};

// `mode`, or HeaderMode::kNone if the dialect has no header.
HeaderMode header_mode(HeaderMode mode, const Dialect& dialect);

// File systems that can share blocks between files share blocks of this size. Cuts never depend on the file system in
// use.
constexpr std::uint64_t kCloneAlignment = 4096;

// What pieces of a number have in common.
enum class Balance : std::uint8_t {
    kBytes,    // nearly equal bytes
    kRecords,  // equal numbers of records, or one more in the first ones; the header is not counted
};

// Cuts only where the value of a column changes from one record to the next. Values are compared as a reader gets them,
// without quotes and escapes.
struct Together {
    RuleText column;                  // one column, by its name or as #N: see doc/rules.md
    bool is_delimiter_given = false;  // as in StageOptions
    bool is_header_given = false;
    // A record without the field has the empty value, as an empty record has. Else it is an InputError, if it is looked
    // at to find a cut.
    bool accepts_missing = false;

    bool operator==(const Together&) const = default;
};

// Pieces by value: one piece for each value that records have in a column, or for each combination of the values in
// several columns. Values are compared as a reader gets them, without quotes and escapes. Records keep their order
// within a piece.
struct ByValue {
    RuleText columns;                 // one or several, with commas between them; each by its name or as #N
    bool is_delimiter_given = false;  // as in StageOptions
    bool is_header_given = false;
    // A record without the field has the empty value, as an empty record has. Else it is an InputError.
    bool accepts_missing = false;
    // The number of pieces, instead of one for each value. A value belongs to piece hash % buckets + 1, where hash is
    // XXH3-64 with the seed 0, of several columns over the size of the value as 64 bits, little-endian, and the value,
    // for each. At least 1, at most kMostKeys.
    std::optional<std::uint64_t> buckets = std::nullopt;
    bool drops_columns = false;       // the pieces are without the columns
    std::uint64_t max_keys = 10'000;  // more different values are a KeyLimitError; 1 .. kMostKeys

    static constexpr std::uint64_t kMostKeys = 0xFFFF'FFFE;

    bool operator==(const ByValue&) const = default;
};
using By [[deprecated("ByValue")]] = ByValue;  // until 0.3

// There are more different values than ByValue::max_keys.
class KeyLimitError : public std::invalid_argument {
public:
    explicit KeyLimitError(std::uint64_t max_keys)
        : std::invalid_argument("there are more than " + std::to_string(max_keys) + " different values"),
          max_keys_(max_keys) {}

    std::uint64_t max_keys() const noexcept { return max_keys_; }

private:
    std::uint64_t max_keys_;
};

// When a piece ends. Either `pieces` is set, or at least one of `records` and `size`; the first limit reached ends the
// piece. With `by` there may be no limit at all.
// Functions that take a policy throw std::invalid_argument for one that breaks these rules.
struct Policy {
    std::optional<std::uint64_t> records;  // records in each piece, at least 1
    std::optional<std::uint64_t> size;     // the most bytes of a piece, at least 1; a header that is written counts;
                                           // a record that does not fit stands alone
    std::optional<std::uint64_t> pieces;   // the number of pieces, at least 1
    Balance balance = Balance::kBytes;     // kRecords only with `pieces`, and without an alignment
    // A piece ends at the first change of the value at or after the place at which it would end by `pieces`, or at the
    // last change within `records` and `size`. If there is none within them, the piece ends at the next change and is
    // Piece::oversize. An aligned cut must be a change, too.
    std::optional<Together> together = std::nullopt;
    // Pieces by value, for run_job() and PiecesByValue. `records` and `size` divide the records of one value. Not with
    // `pieces`, `together` and an alignment, and ByValue::buckets not with `records` and `size`.
    std::optional<ByValue> by = std::nullopt;
    HeaderMode header = HeaderMode::kRepeat;
    // 0, or up to kMaxGridStep, usually kCloneAlignment. Aligns cuts by size or pieces: a piece's start, less the size
    // of the header written before it, is to be a multiple of this. Such a piece can share blocks with the input. An
    // aligned cut lies at most 1 % of the size before the size limit, or at most 1 % of the even share after the end of
    // that share. If no record starts there on the grid, the cut is not aligned.
    std::uint64_t alignment = 0;

    bool operator==(const Policy&) const = default;
};

// Whether the policy needs a blob. Input::spool() turns a stream into one.
inline bool needs_whole_input(const Policy& policy) {
    return policy.pieces || policy.alignment != 0 || policy.together || policy.by;
}

// Whether all records have to be found before the first cut. Such a policy needs plan_pieces.
inline bool needs_index(const Policy& policy) {
    return policy.alignment != 0 || policy.balance == Balance::kRecords || policy.together || policy.by;
}

// A range of the input between two boundaries, header not included. With Policy::by: records of one value, wherever
// they stand; start and first_record are those of its first record.
struct Piece {
    std::uint64_t number = 1;  // from 1
    std::uint64_t start = 0;   // byte of the input
    std::uint64_t length = 0;
    std::uint64_t first_record = 1;  // from 1, the header not counted
    std::uint64_t records = 0;
    // One record that does not fit the policy's size, or under Policy::together a run of records with one value that
    // does not fit its limits.
    bool oversize = false;

    bool operator==(const Piece&) const = default;
};

// The header that is to be repeated in every piece is larger than the policy's size.
class HeaderSizeError : public std::invalid_argument {
public:
    explicit HeaderSizeError(std::uint64_t header_size, const std::optional<Findings>& findings = std::nullopt)
        : std::invalid_argument("the header of " + std::to_string(header_size) + " bytes does not fit a piece"),
          header_size_(header_size),
          findings_(findings) {}

    // In bytes.
    std::uint64_t header_size() const noexcept { return header_size_; }
    // The findings, if the input is a stream with nothing but the header. An open quote may be the cause.
    const std::optional<Findings>& findings() const noexcept { return findings_; }

private:
    std::uint64_t header_size_;
    std::optional<Findings> findings_;
};

// So many pieces or buckets may be asked for of any input. Of more, there must be as many records.
constexpr std::uint64_t kMostSparePieces = 65'536;

// Policy::pieces or ByValue::buckets is more than the records of the input and kMostSparePieces: nearly all of the
// pieces would be empty, and their list would not fit into memory.
class PieceCountError : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// How many bytes of header are written into the piece.
std::uint64_t header_size_in(HeaderMode mode, std::uint64_t piece_number, std::uint64_t header_size);

// Calls `take` with each piece in order and throws what it throws. Returns the size of the header: 0, or where the
// first piece starts. Throws HeaderSizeError and PieceCountError before the first piece, InputChangedError if the bytes
// are not those of the index, and std::invalid_argument for a bad policy or an empty `take`. For Policy::together also,
// before the first piece, RuleError, and InputError for a header that is too long; later InputError for a record
// without the field.
std::uint64_t plan_pieces(const RecordIndex& index, const Policy& wanted,
                          const std::function<void(const Piece&)>& take);

// The size of the header, as plan_pieces returns it. Throws as plan_pieces.
std::uint64_t header_size(const RecordIndex& index, const Policy& policy);

// Piece `number` of a policy by pieces, as plan_pieces gives it. The cost does not depend on how many pieces there are.
// Throws InputChangedError, RuleError and InputError as plan_pieces, and std::invalid_argument for a bad policy, a
// policy without `pieces`, and a number that is not in 1 .. pieces.
Piece plan_piece(const RecordIndex& index, const Policy& policy, std::uint64_t number);

// Receives the pieces of a stream in order: header() first, then for each piece begin(), body() any number of times,
// end(). The bytes are valid during the call. An exception from a member ends the cutting.
class PieceSink {
public:
    PieceSink() = default;
    PieceSink(const PieceSink&) = delete;
    PieceSink& operator=(const PieceSink&) = delete;
    virtual ~PieceSink() = default;

    // A part of the header. Not called if there is no header. All parts come before the first begin().
    virtual void header(std::span<const std::uint8_t> bytes) = 0;
    // The number, start and first record of the piece are known.
    virtual void begin(const Piece& piece) = 0;
    virtual void body(std::span<const std::uint8_t> bytes) = 0;
    // All members of the piece are known.
    virtual void end(const Piece& piece) = 0;
};

// Reads an input once, in order, and cuts it as plan_pieces does. Policies by pieces need a blob; those for
// which needs_index() is true need plan_pieces. Memory is bounded: of a record that may not fit the current piece, and
// of empty records before the header, at most 1 MiB is kept in memory, and the rest in an unlinked temporary file.
// Throws std::system_error, InputError as scan(), Cancelled and what the sink throws. Throws HeaderSizeError before the
// sink's first begin(). Throws std::invalid_argument for a dialect with a fault, a bad execution or policy, a policy
// that this input cannot be cut by, a snapshot (its last record may be incomplete), or a stream that was read before.
// If others change the file meanwhile, the result is undefined: see Input::throw_if_changed().
Findings cut_stream(Input& input, const Dialect& dialect, const Execution& execution, const Policy& wanted,
                    PieceSink& sink);

}  // namespace cleave
