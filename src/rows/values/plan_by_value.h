// The plan for pieces by value: which piece each record goes to, and which ranges of the input each piece consists of.
// It is plain data and does not open any piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "rows/records/record_rewriter.h"
#include "rows/values/key_field.h"
#include "rows/values/key_share.h"
#include "rows/values/key_table.h"
#include "rows/values/router.h"
#include "rows/values/scatter.h"
#include "rows/values/scratch_memory.h"

namespace cleave {

// The columns that Policy::by names. Throws RuleError, InputError for a header that is too long, and
// InputChangedError.
std::vector<KeyColumn> key_columns_of(const RecordIndex& index, const Policy& policy);

// Only one thread at a time may change a plan; while none does, any thread may read it.
class PlanByValue {
public:
    // `policy` must set Policy::by and outlive the plan. Uses as many threads as the index was created with. Throws
    // RuleError, InputError for a record without the field and for a header that is too long, ValueLimitError,
    // HeaderSizeError, InputChangedError if the bytes are not the ones that were indexed, Cancelled, SystemError.
    PlanByValue(const RecordIndex& index, const Policy& policy);

    // For records that lose columns after their keys have been read, and are then written to `written`. Parts are
    // ranges of `written`, and starts are offsets as if the written records followed the header without gaps.
    struct Rewriting {
        MakeRewriter make;
        TemporaryBlob& written;     // begins with the header
        std::uint64_t header_size;  // in `written`
    };
    // As above, but reads the keys from the given columns. Also throws InputError for a record that a rewriter refuses.
    PlanByValue(const RecordIndex& index, const Policy& policy, std::span<const KeyColumn> columns,
                const Rewriting* rewriting = nullptr);

    // For records whose keys, in the given columns, were read while the records were being written. Parts are ranges of
    // what was written.
    struct Written {
        KeyShares shares;
        std::uint64_t header_size;  // the header comes first in what was written
        std::uint64_t seed;         // of the hashes of keys: see seed_for()
        unsigned threads;           // how many to use, at least 1
    };
    PlanByValue(const Policy& policy, std::span<const KeyColumn> columns, Written written);
    // Returns a seed for the hashes of keys. Keys are numbered in order of appearance, so no result depends on the
    // seed, except for buckets and parts.
    static std::uint64_t seed_for(const ByValue& by);
    // Whether neighbouring records with the same key may share an entry of the route.
    static bool joins(const Policy& policy) { return !policy.records && !policy.max_bytes; }

    std::uint64_t header_size() const { return header_size_; }

    // In order of their first records; buckets and parts in the order of the policy.
    const std::vector<Piece>& pieces() const { return pieces_; }
    // Moves the pieces out; pieces() is empty afterwards.
    std::vector<Piece> take_pieces() { return std::exchange(pieces_, {}); }

    // Writes the bodies of all pieces in the order of the records. write(i, offset, bytes) writes to piece i, counted
    // from 0, at an offset that includes the piece's header; several threads call it at once. `from` is the blob that
    // holds the parts of the pieces. Requires can_scatter(). Throws what Blob::lend() and `write` throw, and Cancelled.
    void scatter(const Blob& from, const Scatterer::Write& write, const Cancellation* cancellation) const;
    // Whether scatter() can be called: there are few enough pieces, and list_parts() has not listed the parts.
    bool can_scatter() const { return !shares_.empty(); }

    // Lists the parts of all pieces, unless that has been done already. Throws SystemError, after which the plan
    // can no longer be used.
    void list_parts();
    // The parts of piece `number`, counted from 1, including the header.
    std::span<const BlobRange> parts(std::uint64_t number) const {
        return parts_.as<BlobRange>().subspan(first_parts_[number - 1],
                                              first_parts_[number] - first_parts_[number - 1]);
    }

    // Copies all parts from `from`, the blob that holds them, to `to`, where the parts of neighbouring pieces are next
    // to each other. From then on the parts are ranges of `to`. `pieces` are the pieces of the plan. Throws what
    // Blob::lend() throws, Cancelled, SystemError.
    struct Regrouping {
        std::uint64_t group;   // how many bytes of pieces are placed next to each other, at least 1
        std::uint64_t window;  // how many bytes of the blob are read at once, at least 1
    };
    void regroup(std::span<const Piece> pieces, const Blob& from, TemporaryBlob& to, const Regrouping& sizes,
                 const Cancellation* cancellation);

    // The names of the key's columns in the header; empty without a header.
    const std::vector<std::string>& columns() const { return columns_; }
    // How many different keys there are; 0 for buckets and parts.
    std::size_t key_count() const { return keys_.size(); }
    // The value of a key in a column. Keys are numbered from 0 in the order of their first records.
    std::string_view value(std::size_t key, std::size_t column) const;

    // The key of piece `number`, and how many pieces with that key come before it.
    struct PieceOfKey {
        std::size_t key;
        std::uint64_t before;
    };
    PieceOfKey piece_of_key(std::uint64_t number) const {
        return pieces_of_keys_.empty() ? PieceOfKey{static_cast<std::size_t>(number - 1), 0}
                                       : pieces_of_keys_[number - 1];
    }
    // The values of the key of piece `number`, one for each column; none for buckets and parts.
    std::vector<std::string> values_of(std::uint64_t number) const;
    // The largest number of pieces that any key has.
    std::uint64_t most_of_key() const { return most_of_key_; }

private:
    // Consecutive records, and how many of them go to each piece.
    struct Share {
        std::uint64_t origin = 0;           // where the records begin; they follow one another without gaps
        std::uint64_t size = 0;             // bytes
        std::vector<std::uint32_t> pieces;  // numbers from 0, each at most once
        std::vector<KeyRecords> records;    // for each of these pieces
        Route route;                        // its entries lead to positions in `pieces`
    };

    void make_pieces(std::span<KeyShare> shares, std::uint64_t seed);
    void merge(std::span<KeyShare> shares, std::uint64_t seed);
    void add_records(const KeyShare& share, std::span<const std::uint32_t> pieces, std::uint64_t start);
    void divide();
    bool fits(const Piece& piece, std::uint64_t size, std::uint64_t records) const;
    std::vector<std::uint64_t> reserve_parts();
    void place(const Share& share, std::span<std::uint64_t> next);

    const Policy* policy_;
    unsigned threads_;
    std::uint64_t header_size_ = 0;
    std::uint64_t first_record_ = 0;  // the records before it are the header
    std::vector<std::string> columns_;
    KeyTable keys_;
    std::vector<Piece> pieces_;
    std::vector<PieceOfKey> pieces_of_keys_;  // empty if each key has one piece
    std::uint64_t most_of_key_ = 1;
    std::size_t piece_count_ = 0;
    std::vector<Share> shares_;               // empty if the parts are listed
    ScratchMemory parts_;                     // BlobRange elements, piece after piece
    std::vector<std::uint64_t> first_parts_;  // for each piece, and the end
};

}  // namespace cleave
