// Finds the records that a strict reader refuses: in bytes that are there, and in bytes that are read in order.
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
    bool keeps_texts = true;               // false: no byte of a reject is kept anywhere
    Encoding encoding = Encoding::kBytes;  // that the input is converted from
    std::vector<KeyField> keys = {};
};

// A record, or a line of a broken one, that is rejected.
struct Reject {
    std::uint64_t offset;  // in the input
    std::uint64_t size;
    std::uint64_t before;  // how many records and rejected lines come before it among those that were settled
    RejectKind kind;
    std::string what;      // of bad quotes, and of a key
    std::uint32_t fields;  // how many it has
};

// For use by one thread at a time.
class Sieve {
public:
    // The arguments must outlive the sieve.
    Sieve(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory);

    // Settles the records that begin in the first `most` bytes. `bytes` begins with a record, at byte `offset` of the
    // input; with `at_end`, the input ends with it. Returns where the first record begins that is not settled: at
    // `most` or later, or before it if that record does not end in `bytes`. Adds to rejects() and records().
    //
    // Throws InputError for bad quotes under refuses_quotes, and for a record that is too large unless
    // RejectKind::kSize is one of the kinds; its place counts records as Reject::before does.
    std::size_t settle(std::span<const std::uint8_t> bytes, std::uint64_t offset, bool at_end, std::size_t most);

    // Whether the record at which settle() ended is too large: after max_record bytes it goes on, outside quotes.
    bool is_too_large() const { return is_too_large_; }

    std::vector<Reject>& rejects() { return rejects_; }
    // How many records and rejected lines were settled.
    std::uint64_t records() const { return records_; }
    void clear() {
        rejects_.clear();
        records_ = 0;
    }
    // How many bytes were read in all, counting those that were read again.
    std::uint64_t bytes_read() const { return read_; }

private:
    RecordBlock read(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end);
    void judge(const RecordBlock& block, std::size_t r);
    void reject(std::size_t begin, std::size_t size, RejectKind kind, std::string what = {}, std::size_t fields = 0);
    std::size_t end_of_line(std::span<const std::uint8_t> bytes, bool at_end);
    std::size_t reject_line(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end);
    std::optional<std::size_t> settle_large(std::span<const std::uint8_t> bytes, std::size_t from, bool at_end);
    bool has(RejectKind kind) const { return (rules_.kinds & bits_of(kind)) != 0; }

    const SieveRules& rules_;
    const bool reads_strictly_;
    const bool reads_bytes_;     // a kind asks for more than fields
    StateMachine line_machine_;  // of the dialect without quotes
    FieldReader reader_;
    std::optional<FieldReader::QuoteFault> fault_;  // of the last read()
    std::vector<Reject> rejects_;
    std::uint64_t records_ = 0;
    std::uint64_t offset_ = 0;    // of the bytes
    std::size_t unfinished_ = 0;  // how much of a record the last settle() has left
    bool is_too_large_ = false;
    std::uint64_t fault_offset_ = 0;  // of fault_, in the input
    std::uint64_t read_ = 0;
};

// In words, such as "4 fields, not 3".
std::string reason_of(const Reject& reject, const SieveRules& rules);

// Takes the rejects, in order. `text` are the bytes, or `large` has them, unless they are not kept.
using RejectSink = std::function<void(const Reject& reject, std::uint64_t record, std::span<const std::uint8_t> text,
                                      const SpillBuffer* large)>;

// Sifts bytes in order: a stream, or a blob where a guess was wrong. For one thread at a time.
class SieveInOrder {
public:
    // Fills at least a byte; 0 at the end.
    using Read = std::function<std::size_t(std::span<std::uint8_t>)>;

    // `read` gives the bytes from `begin` on, where a record begins. Reads about `capacity` bytes at once. The rules
    // and the kernel must outlive the object.
    SieveInOrder(const SieveRules& rules, const Kernel& kernel, std::shared_ptr<MemoryManager> memory, Place begin,
                 Read read, RejectSink sink, std::size_t capacity = kBlockSize);

    // Reads on. Returns false at the end. Throws what Sieve::settle(), `read` and the sink throw.
    bool next();
    // What the last next() has accepted; valid until the next one.
    std::span<const std::uint8_t> accepted() const { return accepted_; }
    // What is settled ends here.
    Place at() const { return at_; }
    std::uint64_t bytes_read() const { return sieve_.bytes_read(); }

private:
    std::size_t fill();
    void settle();
    void pass_large();

    const SieveRules& rules_;
    Sieve sieve_;
    const StateMachine machine_;
    const Read read_;
    const RejectSink sink_;
    Place at_;
    UnfilledBuffer memory_;
    const std::size_t usual_capacity_;
    std::size_t capacity_;
    std::span<std::uint8_t> rest_;  // bytes in memory_ that are not settled
    bool is_at_end_ = false;
    bool has_large_ = false;  // rest_ begins with a record that is too large
    std::span<const std::uint8_t> accepted_;
};

}  // namespace cleave
