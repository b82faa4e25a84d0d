// Finds the records that a strict reader refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/unfilled_buffer.h"
#include "cleave/dialect.h"
#include "cleave/encoding.h"
#include "cleave/fields.h"
#include "cleave/kernel.h"
#include "cleave/rejects.h"
#include "core/dialect/state_machine.h"
#include "core/reader/spill.h"
#include "rows/records/batch.h"
#include "rows/values/key_field.h"

namespace cleave {

// What decides about the records of one input.
struct SieveRules {
    Dialect dialect;
    std::uint8_t kinds = 0;
    bool refuses_quotes = false;  // bad quotes are an InputError
    std::uint64_t fields = 0;     // 0: not checked
    std::uint64_t max_record = 0;
    bool keeps_texts = true;               // false: no byte of a record that is too large is kept
    Encoding encoding = Encoding::kBytes;  // that the input is converted from
    std::vector<KeyField> keys = {};

    bool has(RejectKind kind) const { return (kinds & bits_of(kind)) != 0; }
    bool reads_strictly() const { return has(RejectKind::kQuotes) || refuses_quotes; }
};

// A record, or a line of a broken one, that is rejected.
struct Reject {
    std::uint64_t offset;  // in the input
    std::uint64_t size;
    std::uint64_t record;  // how many records and rejected lines precede it
    RejectKind kind;
    std::string reason;  // such as "4 fields, not 3"
};

// The reason for RejectKind::kEncoding.
std::string encoding_fault(Encoding encoding);

// Reads bytes in order, from where a record begins. For use by one thread at a time.
class Sieve {
public:
    // Fills at least a byte; 0 at the end of the input.
    using Read = std::function<std::size_t(std::span<std::uint8_t>)>;

    // Reads about `capacity` bytes at once. The rules and the kernel must outlive the object.
    Sieve(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory,
          std::size_t capacity = kBlockSize);

    // Begins at `place`, with `bytes` and with what `read` returns behind them. Leaves the records that begin at byte
    // `end` or later. `is_behind_cr`: what was accepted before ends with a CR.
    void begin(Place place, Read read, bool is_behind_cr, std::span<const std::uint8_t> bytes = {},
               std::uint64_t end = ~std::uint64_t{0});

    // Settles some more records. Returns false at the end. Throws what reading throws, and InputError for bad quotes
    // under refuses_quotes and for a record that is too large unless RejectKind::kSize is one of the kinds.
    bool next();
    // What is settled ends here.
    Place at() const { return at_; }
    // What the last next() has rejected; valid until the next one, like the rest. A record that is too large may be in
    // large(), and has no text.
    std::span<const Reject> rejects() const { return rejects_; }
    std::span<const std::uint8_t> text(const Reject& reject) const;
    const SpillBuffer& large() const { return large_; }
    // What the last next() has accepted.
    std::span<const std::uint8_t> accepted();

    // At the end: the state of a reader behind the last record if that was accepted, otherwise kRecordStart.
    State state() const { return state_; }

    // Whether what is accepted so far ends with a CR.
    bool is_behind_cr() const { return is_behind_cr_; }

    // How many bytes were read in all, counting those that were read again.
    std::uint64_t bytes_read() const { return read_; }

private:
    bool fill();
    void settle(bool may_be_large);
    void pass_large();
    RecordBlock read(std::size_t from, std::size_t size, bool at_end);
    void judge(const RecordBlock& block, std::size_t r, std::size_t from);
    std::size_t judge_all(const RecordBlock& block, std::size_t from, std::size_t most);
    void note_end(std::size_t end);
    void reject(std::size_t begin, std::uint64_t size, RejectKind kind, std::string reason);
    std::size_t reject_line(std::size_t from);
    std::optional<std::size_t> settle_large(std::size_t from);

    const SieveRules& rules_;
    const std::uint64_t fields_;  // of a record; 0: not checked
    const bool reads_bytes_;      // more than the number of fields decides about records
    const StateMachine machine_;
    const StateMachine line_machine_;  // of the dialect without quotes
    const std::size_t usual_capacity_;
    FieldReader reader_;
    Read read_on_;
    std::uint64_t end_ = 0;
    UnfilledBuffer memory_;
    std::size_t capacity_ = 0;
    bool is_at_end_ = false;
    std::span<const std::uint8_t> rest_;  // bytes that are not settled
    bool is_new_ = false;                 // nothing of them was read yet
    State state_ = State::kRecordStart;
    bool has_large_ = false;                        // they begin with a record that is too large
    Place at_;                                      // of them
    bool is_behind_cr_ = false;                     // what is accepted before them, or before the last rejected one
    std::optional<FieldReader::QuoteFault> fault_;  // of the last read(), at a place in rest_
    std::vector<Reject> rejects_;
    SpillBuffer large_;
    std::span<const std::uint8_t> settled_;  // by the last next()
    std::vector<std::uint8_t> accepted_;
    std::uint64_t read_ = 0;
};

}  // namespace cleave
