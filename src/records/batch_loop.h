// The one loop over batches of records: whoever reads records does it here.
//
// The problem: where a record starts is known only when all bytes before it were walked, which one thread does. So the
// ends of batches are guessed (see records/guessed_start.h), and several threads look for fields at once:
//
//   pull   the next batch
//   work   guess its ends and copy it; the consumer finds its fields and makes something of them
//   emit   the consumer passes that on, in order
//
// Nothing is decided by a guess: work() of a batch that is not whole records, or that has a fault, makes a doubt. Then
// all batches before it are emitted, and the next one is read exactly, by one thread, behind the last of them. If the
// guess was wrong, the loop goes on guessing behind that batch; if there is a fault, the exact batch has it, with its
// place and the number of its record. After kMostDoubts doubts all is read exactly, as a stream always is. It ends,
// because each doubt is followed by an exact batch, which has a record at least.
//
// What it costs: a copy of each byte into memory that stays in the second cache, and a few lines at each end twice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/ordered.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "records/batch.h"
#include "records/batch_check.h"
#include "records/exact_batches.h"
#include "records/guessed_batches.h"

namespace cleave {

// A consumer works on one batch after the other, on one thread at a time. There are several for each thread.
//
//   void work(const Batch& batch)     Throws InputError for a fault; of a guessed batch for any, and DoubtfulBatch if
//                                     the batch is not whole records. The bytes are valid until it returns.
//   std::uint64_t emit(Place place)   Passes on what work() has made of the batch at `place`. One at a time, in the
//                                     order of the batches. Returns the number of records.
class BatchLoop {
public:
    // The records of a range of a blob, which begins and ends with a record; the first one is number `record`. All must
    // outlive the loop. With `check`, which may be null, batches are compared with the file before they are emitted;
    // `before` are the bytes before the range, as far as they were read already. The meter gets the bytes that are
    // emitted. Throws as BatchTrail, with a check.
    BatchLoop(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect, const Kernel& kernel,
              BatchAccess access, const BatchOptions& options, BatchCheck* check = nullptr,
              std::span<const std::uint8_t> before = {});
    // All records of a stream but what is skipped. The meter gets the bytes that are read.
    BatchLoop(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel, const BatchOptions& options);

    // Batches that wait for their turn, and those at work, for each thread: see base/ordered.h.
    static constexpr std::size_t kSlotsOfThread = 3;

    bool is_done() const { return is_exhausted_ || at_.offset == end_; }
    // Where the next record to be emitted begins.
    Place at() const { return at_; }
    // Of a blob: the records that are left.
    BlobRange rest() const { return {at_.offset, end_ - at_.offset}; }
    // When the loop is done: the quote that is still open at the end of exact batches.
    std::optional<Place> open_quote() const { return exact_ ? exact_->open_quote() : std::nullopt; }

    // Passes on the next `most` batches, or fewer, by `threads` threads. Each call of make() returns a consumer. Throws
    // what consumers throw, except for doubts, what reading throws, InputChangedError, and InputError for a record that
    // is too long. All batches before that were emitted.
    template <class Make>
    void run(unsigned threads, const Make& make, std::uint64_t most = kAll);
    static constexpr std::uint64_t kAll = ~std::uint64_t{0};

    // For who reads the records from at() on in another way. They may be guessed; where they may not, they are those of
    // exact(). Before any are passed on, they are compared, by `threads` threads, and advance() is told when they were.
    bool may_guess() const { return can_guess_ && doubts_ < kMostDoubts; }
    ExactBatches& exact();
    void compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads);
    void advance(std::uint64_t size, std::uint64_t records);
    // All that exact() had was passed on.
    void end() { is_exhausted_ = true; }
    // The next records are doubtful: run() is to read some of them exactly.
    void doubt();
    bool is_in_doubt() const { return is_in_doubt_; }

    // No record is passed on any more. Throws InputChangedError.
    void finish();

private:
    template <class Consumer>
    class Slot;

    static constexpr unsigned kMostDoubts = 8;
    // A batch of more times the usual size is large.
    static constexpr std::size_t kLarge = 4;

    bool is_large(std::size_t size) const { return size > kLarge * options_.size; }
    unsigned prepare(unsigned threads);
    bool pull(OwnedBatch& batch);
    ValueBuffer take_copy(bool is_exact);
    void give_copy(ValueBuffer copy);

    const Blob* const blob_;  // null: a stream
    const Dialect dialect_;
    const Kernel& kernel_;
    const BatchAccess access_;
    const BatchOptions options_;  // without the meter
    Meter* const meter_;          // of what is passed on
    BatchCheck* const check_;
    std::optional<BatchTrail> trail_;  // with a check
    const bool can_guess_;
    const std::uint64_t end_;  // of the range; the largest offset for a stream
    Place at_;
    bool is_exhausted_ = false;  // exact_
    bool is_in_doubt_ = false;
    unsigned doubts_ = 0;
    std::uint64_t left_ = 0;                 // batches that may still be pulled
    std::optional<GuessedBatches> guessed_;  // from at() on; and so is the other one
    std::optional<ExactBatches> exact_;

    // Memory for copies. A batch needs it only while a thread works on it. What was given back last is lent first: the
    // processor's cache still holds it, and as many copies as there are threads fit where one for each slot does not.
    Mutex mutex_;
    std::vector<ValueBuffer> idle_ CLEAVE_GUARDED_BY(mutex_);
    // That of a large batch, for the next exact one: where a record is long, others are likely to be. One is enough:
    // such records come one at a time.
    ValueBuffer large_ CLEAVE_GUARDED_BY(mutex_){options_.memory};
};

template <class Consumer>
class BatchLoop::Slot {
public:
    Slot(BatchLoop& loop, Consumer consumer)
        : loop_(loop),
          consumer_(std::move(consumer)),
          batch_(loop.options_.memory),
          walker_(loop.dialect_, loop.kernel_) {}

    bool pull() {
        batch_.copy = loop_.take_copy(loop_.guessed_ == std::nullopt);
        const bool is_one = loop_.pull(batch_);
        is_large_ = batch_.is_exact && loop_.is_large(batch_.bytes.size());
        return is_one;
    }

    bool is_large() const { return is_large_; }

    void work() {
        if (!batch_.is_exact) loop_.guessed_->fill(batch_, walker_);
        size_ = batch_.bytes.size();
        try {
            if (size_ > 0) consumer_.work(static_cast<const Batch&>(batch_));
        } catch (const InputError&) {
            if (!batch_.is_exact) throw DoubtfulBatch();
            throw;
        }
        if (loop_.check_ != nullptr) {
            loop_.check_->compare(batch_.place.offset, batch_.bytes);
            const auto last = BatchTrail::last_of(batch_.bytes);
            last_.assign(last.begin(), last.end());
        }
        batch_.bytes = {};
        loop_.give_copy(std::move(batch_.copy));
    }

    void emit() {
        // Two guesses of one place differ only if the bytes have changed.
        if (batch_.place.offset != loop_.at_.offset) throw InputChangedError();
        if (size_ == 0) return;  // no record was found to begin in it
        if (loop_.trail_) loop_.trail_->take(size_, last_);
        loop_.advance(size_, consumer_.emit(loop_.at_));
    }

private:
    BatchLoop& loop_;
    Consumer consumer_;
    OwnedBatch batch_;  // its bytes until work() has returned
    Walker walker_;
    std::size_t size_ = 0;            // of its bytes
    std::vector<std::uint8_t> last_;  // of them: see BatchTrail
    bool is_large_ = false;
};

template <class Make>
void BatchLoop::run(unsigned threads, const Make& make, std::uint64_t most) {
    if (is_done()) return;
    std::vector<Slot<decltype(make())>> slots;
    const std::size_t count = threads == 1 ? 1 : threads * kSlotsOfThread;
    slots.reserve(count);
    while (slots.size() < count) slots.emplace_back(*this, make());
    while (!is_done() && most > 0) {
        left_ = is_in_doubt_ ? 1 : most;
        const std::uint64_t given = left_;
        try {
            const unsigned used = prepare(threads);
            run_in_order(std::span(slots).first(used == 1 ? 1 : count), used);
            most -= given - left_;
            if (is_in_doubt_ && may_guess() && !is_done()) exact_.reset();  // it knows an open quote at the end
            is_in_doubt_ = false;
        } catch (const DoubtfulBatch&) {
            most -= given - left_;
            doubt();
        }
    }
}

}  // namespace cleave
