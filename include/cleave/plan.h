// Decides where to cut: policies, and the pieces that follow from them. A plan is plain data. Knows nothing about
// writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "cleave/scan.h"
#include "cleave/stage_error.h"

namespace cleave {

// Whether there is a header, and where it goes. The dialect's HeaderRecord says which record is the header. The
// preamble and empty records before that record belong to the header. Under HeaderRecord::kNone all modes are kNone.
enum class HeaderMode : std::uint8_t {
    kRepeat,  // into every piece
    kFirst,   // into the first piece
    kDrop,    // nowhere
    kNone,    // there is no header: all records are data; a preamble goes into every piece
};

// `mode`, or HeaderMode::kNone if the dialect has no header.
HeaderMode header_mode(HeaderMode mode, const Dialect& dialect);

// File systems that can share blocks between files share blocks of this size. Cuts never depend on the file system in
// use.
constexpr std::uint64_t kCloneAlignment = 4096;

// What Policy::pieces divides equally.
enum class Balance : std::uint8_t {
    kBytes,    // nearly equal bytes
    kRecords,  // equal numbers of records, except that the first pieces may have one more; the header does not count
};

// Cuts only where the value of a column changes from one record to the next. Values are compared as a reader sees them,
// without quotes and escapes.
struct Together {
    RuleText column = {};             // one column, given by its name or as #N: see doc/guide/rules.md
    bool is_delimiter_given = false;  // as in StageOptions
    bool is_header_given = false;
    // A record without the field has the empty value, like an empty record; in one with more fields than the header the
    // field is at the header's place. If false, such a record causes InputError when it is examined to find a cut; one
    // with more fields only if the column is named and the further fields are not all empty.
    bool accepts_missing = false;

    bool operator==(const Together&) const = default;
};

// One of the parts that records are divided into, such as the records to train on.
struct Part {
    std::string name;          // not empty; the name of the piece
    std::uint64_t weight = 1;  // the part's share of the records is this, divided by the sum of all weights

    bool operator==(const Part&) const = default;
};

// Pieces by value: one piece for each value that records have in a column, or for each combination of the values in
// several columns. Values are compared as a reader sees them, without quotes and escapes. Records keep their order
// within a piece.
//
// With `buckets` or `parts`, which exclude each other, a hash of the value decides which piece a record goes to. It is
// XXH3-64 with `seed`: for one column, of the value; for several, of each value preceded by its length as 64 bits,
// little-endian. So the piece of a value depends neither on the other records nor on the order of the records.
struct ByValue {
    // One or several, separated by commas; each is a name, #N or, in JSON Lines, a path. With `parts` the text may be
    // empty: the value of a record is then its number, from 1 after the header, as 64 bits, little-endian.
    RuleText columns = {};
    bool is_delimiter_given = false;  // as in StageOptions
    bool is_header_given = false;
    // A record without the field has the empty value, like an empty record; in one with more fields than the header the
    // field is at the header's place. If false, such a record causes InputError; one with more fields only if the
    // column is named and the further fields are not all empty.
    bool accepts_missing = false;
    // The number of pieces, instead of one for each value: at least 1, at most kMostValues. A value belongs to piece
    // hash % buckets + 1.
    std::optional<std::uint64_t> buckets = std::nullopt;
    // The pieces, in order, instead of one for each value: at most kMostParts. All names differ, weights are at least
    // 1, and their sum W is below 2^64. A value belongs to the first part for which hash * W < C * 2^64, where C is the
    // sum of the weights of this part and all parts before it.
    std::vector<Part> parts = {};
    std::uint64_t seed = 0;             // of the hash, for buckets and parts
    bool drops_columns = false;         // leave the columns out of the pieces
    std::uint64_t max_values = 10'000;  // more distinct values throw ValueLimitError; 1 .. kMostValues

    static constexpr std::uint64_t kMostValues = 0xFFFF'FFFE;
    static constexpr std::size_t kMostParts = 1000;

    // Whether the pieces are known before the first record.
    bool has_fixed_pieces() const { return buckets || !parts.empty(); }
    // Whether each record goes to a part drawn at random, by its number.
    bool is_draw() const { return !parts.empty() && columns.text.empty(); }

    bool operator==(const ByValue&) const = default;
};
using By [[deprecated("ByValue")]] = ByValue;  // until 0.3

// There are more distinct values than ByValue::max_values.
class ValueLimitError : public ArgumentError {
public:
    explicit ValueLimitError(std::uint64_t max_values)
        : ArgumentError("there are more than " + std::to_string(max_values) + " different values"),
          max_values_(max_values) {}

    std::uint64_t max_values() const noexcept { return max_values_; }

private:
    std::uint64_t max_values_;
};

// When a piece ends. The factories make the common policies; set members for the rest. Either `pieces` is set, or at
// least one of `records` and `max_bytes`; the first limit reached ends the piece. With `by`, all three may be unset.
// Functions that take a policy throw ArgumentError for one that breaks these rules.
struct Policy {
    // Each throws ArgumentError for a count, a size or a column that no policy can have.
    static Policy by_records(std::uint64_t count);
    static Policy by_max_bytes(std::uint64_t size);
    static Policy into_pieces(std::uint64_t count, Balance balance = Balance::kBytes);
    static Policy by_column(const std::string& columns);  // as ByValue::columns
    static Policy into_parts(std::vector<Part> parts, const std::string& columns = "", std::uint64_t seed = 0);

    std::optional<std::uint64_t> records = {};  // records in each piece, at least 1
    // The most bytes in a piece, at least 1, including a header written into it. A record that does not fit becomes a
    // piece of its own.
    std::optional<std::uint64_t> max_bytes = {};
    std::optional<std::uint64_t> pieces = {};  // the number of pieces, at least 1
    Balance balance = Balance::kBytes;         // kRecords only with `pieces`, and without an alignment
    // With `pieces`, a piece ends at the first change of the value at or after the place where it would otherwise end;
    // with `records` and `max_bytes`, at the last change within them. If there is none within them, the piece ends at
    // the next change, and Piece::oversize is set. An aligned cut must be at a change, too.
    std::optional<Together> together = std::nullopt;
    // Pieces by value, for run_job() and PiecesByValue. `records` and `max_bytes` divide the records of one value.
    // Cannot be combined with `pieces`, `together` or an alignment; ByValue::buckets and parts cannot be combined with
    // `records` or `max_bytes`.
    std::optional<ByValue> by = std::nullopt;
    HeaderMode header = HeaderMode::kRepeat;
    // 0 (no alignment), or up to kMaxGridStep; usually kCloneAlignment. Aligns cuts under `max_bytes` or `pieces`: a
    // piece's start, less the size of the header written before it, becomes a multiple of this. Such a piece can share
    // blocks with the input. An aligned cut is at most 1 % of the size before the size limit, or at most 1 % of the
    // even share after the end of that share. If no record starts there on the grid, the cut is not aligned.
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

// A range of the input between two boundaries, without the header. With Policy::by: the records with one value,
// wherever they are in the input; start and first_record refer to the first of them.
struct Piece {
    std::uint64_t number = 1;  // from 1
    std::uint64_t start = 0;   // byte of the input
    std::uint64_t length = 0;
    std::uint64_t first_record = 1;  // from 1, not counting the header
    std::uint64_t records = 0;
    // Whether the piece is a single record that does not fit the policy's max_bytes or, under Policy::together, a run
    // of records with one value that does not fit the policy's limits.
    bool oversize = false;

    bool operator==(const Piece&) const = default;
};

// The header, which is to be repeated in every piece, is larger than the policy's max_bytes.
class HeaderSizeError : public ArgumentError {
public:
    explicit HeaderSizeError(std::uint64_t header_size, const std::optional<Findings>& findings = std::nullopt)
        : ArgumentError("the header of " + std::to_string(header_size) + " bytes does not fit a piece"),
          header_size_(header_size),
          findings_(findings) {}

    // In bytes.
    std::uint64_t header_size() const noexcept { return header_size_; }
    // The findings, if the input is a stream that contains nothing but the header. An open quote may be the cause.
    const std::optional<Findings>& findings() const noexcept { return findings_; }

private:
    std::uint64_t header_size_;
    std::optional<Findings> findings_;
};

// Any input may be cut into up to this many pieces or buckets. A larger number needs at least as many records.
constexpr std::uint64_t kMostSparePieces = 65'536;

// Policy::pieces or ByValue::buckets is larger than both kMostSparePieces and the number of records in the input:
// nearly all of the pieces would be empty, and their list would not fit into memory.
class PieceCountError : public ArgumentError {
public:
    using ArgumentError::ArgumentError;
};

// How many bytes of header are written into the piece.
std::uint64_t header_size_in(HeaderMode mode, std::uint64_t piece_number, std::uint64_t header_size);

// Calls `take` with each piece in order and throws what it throws. Returns the size of the header, which is where the
// first piece starts, or 0 if there is none. Throws HeaderSizeError and PieceCountError before the first piece,
// InputChangedError if the bytes do not match the index, and ArgumentError for a bad policy or an empty `take`.
// For Policy::together, it also throws RuleError, and InputError for a header that is too long, both before the first
// piece; and later InputError for a record without the field.
std::uint64_t plan_pieces(const RecordIndex& index, const Policy& wanted, FunctionRef<void(const Piece&)> take);

// The size of the header, as plan_pieces() returns it. Throws what plan_pieces() throws.
std::uint64_t header_size(const RecordIndex& index, const Policy& policy);

// Piece `number` under a policy with `pieces`, as from plan_pieces(). The cost does not depend on how many pieces there
// are. Throws InputChangedError, RuleError and InputError as plan_pieces() does, and ArgumentError for a bad
// policy, a policy without `pieces`, and a number outside 1 .. `pieces`.
Piece plan_piece(const RecordIndex& index, const Policy& policy, std::uint64_t number);

// Receives the pieces of a stream in order: header() first, then for each piece begin(), body() any number of times,
// and end(). The bytes are valid during the call. An exception from a member stops the cutting.
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

// Reads an input once, in order, and cuts it as plan_pieces() does. Policies with `pieces` need a blob; those for which
// needs_index() returns true need plan_pieces(). Memory use is bounded: of a record that may not fit the current piece,
// and of empty records before the header, at most 1 MiB is kept in memory, and the rest in an unlinked temporary file.
// Throws SystemError, InputError as scan() does, Cancelled and what the sink throws. Throws HeaderSizeError
// before the sink's first begin(). Throws ArgumentError for an invalid dialect, a bad execution or policy, a
// policy under which this input cannot be cut, a snapshot (its last record may be incomplete), or a stream that was
// read before. If the file changes in the meantime, the result is undefined: see Input::throw_if_changed().
Findings cut_stream(Input& input, const Dialect& dialect, const Execution& execution, const Policy& wanted,
                    PieceSink& sink);

}  // namespace cleave
