// The plan of pieces by value: which piece each record goes to, and for each piece the ranges of the input that it
// consists of. Plain data; opens no piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/plan.h"
#include "io/scatter.h"
#include "io/scratch_memory.h"
#include "io/temporary_blob.h"
#include "keys/key_field.h"
#include "keys/key_share.h"
#include "keys/key_table.h"
#include "keys/route.h"

namespace cleave {

class Stage;

// The columns that Policy::by names. Throws RuleError, InputError for a header that is too long,
// InputChangedError.
std::vector<KeyColumn> key_columns_of(const RecordIndex& index, const Policy& policy);

// For one thread at a time that changes it; any thread otherwise.
class PlanByValue {
public:
    // The policy has Policy::by, and must outlive the plan. Works with as many threads as the index was made with.
    // Throws RuleError, InputError for a record without the field and for a header that is too long, KeyLimitError,
    // HeaderSizeError,
    // InputChangedError if the bytes are not those of the index, Cancelled, std::system_error.
    PlanByValue(const RecordIndex& index, const Policy& policy);

    // The records lose columns after their keys were read, and go to `written`. Parts are parts of that, and starts are
    // those of the records as if they stood one after the other behind the header.
    struct Rewriting {
        const Stage& stage;
        TemporaryBlob& written;     // begins with the header
        std::uint64_t header_size;  // there
    };
    // The same by these columns. Throws InputError also for a record that the stage refuses.
    PlanByValue(const RecordIndex& index, const Policy& policy, std::span<const KeyColumn> columns,
                const Rewriting* rewriting = nullptr);

    // Of records whose keys were read while they were written, by these columns. Parts are parts of what was written.
    struct Written {
        KeyShares shares;
        std::uint64_t header_size;  // what comes first there
        std::uint64_t seed;         // of the hashes of keys: see seed_for()
        unsigned threads;           // to work with, at least 1
    };
    PlanByValue(const Policy& policy, std::span<const KeyColumn> columns, Written written);
    // Keys are numbered as they come, so no result depends on it; except for buckets.
    static std::uint64_t seed_for(const ByValue& by);
    // Whether neighbours with one key may be one entry of the route.
    static bool joins(const Policy& policy) { return !policy.records && !policy.size; }

    std::uint64_t header_size() const { return header_size_; }

    // In order of their first records; buckets in order of their numbers.
    const std::vector<Piece>& pieces() const { return pieces_; }
    // The same, for one call: pieces() is empty afterwards.
    std::vector<Piece> take_pieces() { return std::exchange(pieces_, {}); }

    // Writes the bodies of all pieces as the records come. write(i, offset, bytes) writes to piece i, from 0; the
    // header comes first in it. It is called by several threads. `from` is what the pieces consist of. Only if
    // can_scatter(). Throws what Blob::lend() and `write` throw, Cancelled.
    void scatter(const Blob& from, const Scatterer::Write& write, const Cancellation* cancellation) const;
    // Whether the pieces are few enough for that.
    bool can_scatter() const { return !shares_.empty(); }

    // Finds out what pieces consist of, unless that is known. Throws std::system_error; the plan is of no use then.
    void list_parts();
    // What piece `number`, from 1, consists of, the header included.
    std::span<const BlobRange> parts(std::uint64_t number) const {
        return parts_.as<BlobRange>().subspan(first_parts_[number - 1],
                                              first_parts_[number] - first_parts_[number - 1]);
    }

    // Copies all parts from the blob that they are parts of to `to`, where those of neighbouring pieces are side by
    // side. They are parts of `to` afterwards. `pieces` are those of the plan. Throws what Blob::lend() throws,
    // Cancelled, std::system_error.
    struct Regrouping {
        std::uint64_t group;   // bytes of the pieces that are side by side, at least 1
        std::uint64_t window;  // bytes of the blob that are read at a time, at least 1
    };
    void regroup(std::span<const Piece> pieces, const Blob& from, TemporaryBlob& to, const Regrouping& sizes,
                 const Cancellation* cancellation);

    // What the header calls the columns of the key; empty without a header.
    const std::vector<std::string>& columns() const { return columns_; }
    // Different keys; 0 for buckets.
    std::size_t key_count() const { return keys_.size(); }
    // The value of a key, from 0 in order of the first records, in a column.
    std::string_view value(std::size_t key, std::size_t column) const;

    // The key of piece `number`, and how many pieces with that key come before it.
    struct Place {
        std::size_t key;
        std::uint64_t before;
    };
    Place place_of(std::uint64_t number) const {
        return places_.empty() ? Place{static_cast<std::size_t>(number - 1), 0} : places_[number - 1];
    }
    // The values of its key, one for each column; none for buckets.
    std::vector<std::string> values_of(std::uint64_t number) const;
    // The most pieces that one key has.
    std::uint64_t most_of_key() const { return most_of_key_; }

private:
    // Consecutive records, and what each piece has of them.
    struct Share {
        std::uint64_t origin = 0;           // where they lie, one after the other
        std::uint64_t size = 0;             // bytes
        std::vector<std::uint32_t> pieces;  // from 0, each at most once
        std::vector<KeyRecords> records;    // of each of these pieces
        Route route;                        // to places in `pieces`
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
    std::vector<Place> places_;  // empty if each key has one piece
    std::uint64_t most_of_key_ = 1;
    std::size_t piece_count_ = 0;
    std::vector<Share> shares_;               // empty if the parts are listed
    ScratchMemory parts_;                     // of BlobRange, piece after piece
    std::vector<std::uint64_t> first_parts_;  // by piece, and the end
};

}  // namespace cleave
