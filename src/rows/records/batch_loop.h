// The loop over batches of records that all code uses to read records.
//
// The problem: where a record starts is not known until all bytes before it have been walked, and only one thread can
// do that. So the ends of batches are guessed (see records/guessed_batches.h), and several threads look for fields at
// once:
//
//   pull   get the next batch
//   work   guess the ends of the batch and copy it; the consumer finds its fields and processes them
//   emit   the consumer passes on its results, in order
//
// No result depends on a guess. If a batch does not consist of whole records, or has a fault, work() raises a doubt.
// All batches before it are then emitted, and one thread reads the next batch exactly, starting where they end. If the
// guess was wrong, the loop resumes guessing after the exact batch. If there is a fault, the exact batch has it too,
// along with its position and its record number. After kMostDoubts doubts everything is read exactly, as a stream
// always is. The loop ends, because each doubt is followed by an exact batch, which has at least one record.
//
// The cost: each byte is copied once, into memory that stays in the second-level cache, and a few lines at each end of
// a batch are read twice.
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
#include "rows/records/batch.h"
#include "rows/records/batch_check.h"
#include "rows/records/exact_batches.h"
#include "rows/records/guessed_batches.h"

namespace cleave {

// A consumer works on one batch after another, on one thread at a time. There are several consumers for each thread.
//
//   void work(const Batch& batch)     Throws InputError for a fault (in a guessed batch, for every fault), and
//                                     DoubtfulBatch if a guessed batch does not consist of whole records. The bytes
//                                     are valid until it returns.
//   std::uint64_t emit(Place place)   Passes on the results that work() has produced from the batch at `place`. Called
//                                     once per batch, in the order of the batches, never by two threads at once.
//                                     Returns the number of records.
class BatchLoop {
public:
    // Reads the records of `range` in a blob. The range begins and ends at record boundaries, and its first record is
    // number `record`. The blob, the kernel, the check and the meter must outlive the loop. If `check` is not null,
    // batches are compared with the file before they are emitted, and this constructor throws what BatchTrail throws.
    // `before` holds the bytes right before the range, as far as they have already been read. The meter counts the
    // bytes that are emitted.
    BatchLoop(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect, const Kernel& kernel,
              BatchAccess access, const BatchOptions& options, BatchCheck* check = nullptr,
              std::span<const std::uint8_t> before = {});
    // Reads all records of a stream after the part that was skipped. The meter counts the bytes that are read.
    BatchLoop(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel, const BatchOptions& options);

    // How many batches each thread has, including those that wait for their turn; see base/ordered.h.
    static constexpr std::size_t kSlotsOfThread = 3;

    bool is_done() const { return is_exhausted_ || at_.offset == end_; }
    // Where the next record to be emitted begins.
    Place at() const { return at_; }
    // For a blob: the range of the records that are left.
    BlobRange rest() const { return {at_.offset, end_ - at_.offset}; }
    // Once the loop is done, if it ended with exact batches: the quote that is still open at the end.
    std::optional<Place> open_quote() const { return exact_ ? exact_->open_quote() : std::nullopt; }

    // Processes the next `most` batches, or fewer, with `threads` threads. Each call of make() returns a consumer.
    // Throws what consumers throw (except for doubts) and what reading throws, InputChangedError, and InputError for a
    // record that is too long. All batches before the failure have then been emitted.
    template <class Make>
    void run(unsigned threads, const Make& make, std::uint64_t most = kAll);
    static constexpr std::uint64_t kAll = ~std::uint64_t{0};

    // For callers that read the records from at() on in a different way. If may_guess() returns true, they may guess;
    // otherwise they read the batches of exact(). Before they pass on any batch, they call compare(), which uses
    // `threads` threads; afterwards they call advance().
    bool may_guess() const { return can_guess_ && doubts_ < kMostDoubts; }
    ExactBatches& exact();
    void compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads);
    void advance(std::uint64_t size, std::uint64_t records);
    // Call this when every batch from exact() has been passed on.
    void end() { is_exhausted_ = true; }
    // Says that the next records are doubtful, so that run() reads some of them exactly.
    void doubt();
    bool is_in_doubt() const { return is_in_doubt_; }

    // Call this when no more records will be passed on. Throws InputChangedError.
    void finish();

private:
    template <class Consumer>
    class Slot;

    static constexpr unsigned kMostDoubts = 8;
    // A batch is large if it is more than this many times the usual size.
    static constexpr std::size_t kLarge = 4;

    template <class Make>
    auto make_slots(unsigned threads, const Make& make);
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
    Meter* const meter_;          // counts the bytes that are passed on
    BatchCheck* const check_;
    std::optional<BatchTrail> trail_;  // only with a check
    const bool can_guess_;
    const std::uint64_t end_;  // the end of the range; for a stream, the largest offset
    Place at_;
    bool is_exhausted_ = false;  // exact_ has nothing left
    bool is_in_doubt_ = false;
    unsigned doubts_ = 0;
    std::uint64_t left_ = 0;                 // batches that may still be pulled
    std::optional<GuessedBatches> guessed_;  // these begin at at(), as do those of exact_
    std::optional<ExactBatches> exact_;

    // Memory for copies, which a batch needs only while a thread works on it. The buffer returned last is reused first,
    // because it is still in the processor's cache: the cache has room for one copy per thread, but not for one per
    // slot.
    Mutex mutex_;
    std::vector<ValueBuffer> idle_ CLEAVE_GUARDED_BY(mutex_);
    // The memory of a large batch, kept for the next exact batch: where one record is long, others are likely to be
    // too. One buffer is enough, because such records are read one at a time.
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
        // Two guesses about the same boundary differ only if the bytes have changed.
        if (batch_.place.offset != loop_.at_.offset) throw InputChangedError();
        if (size_ == 0) return;  // no record starts in the batch
        if (loop_.trail_) loop_.trail_->take(size_, last_);
        loop_.advance(size_, consumer_.emit(loop_.at_));
    }

private:
    BatchLoop& loop_;
    Consumer consumer_;
    OwnedBatch batch_;  // its bytes are valid until work() returns
    Walker walker_;
    std::size_t size_ = 0;            // how many bytes the batch has
    std::vector<std::uint8_t> last_;  // the last bytes of the batch; see BatchTrail
    bool is_large_ = false;
};

template <class Make>
auto BatchLoop::make_slots(unsigned threads, const Make& make) {
    std::vector<Slot<decltype(make())>> slots;
    const std::size_t count = threads == 1 ? 1 : threads * kSlotsOfThread;
    slots.reserve(count);
    while (slots.size() < count) slots.emplace_back(*this, make());
    return slots;
}

template <class Make>
void BatchLoop::run(unsigned threads, const Make& make, std::uint64_t most) {
    if (is_done()) return;
    auto slots = make_slots(threads, make);
    while (!is_done() && most > 0) {
        left_ = is_in_doubt_ ? 1 : most;
        const std::uint64_t given = left_;
        try {
            const unsigned used = prepare(threads);
            run_in_order(std::span(slots).first(used == 1 ? 1 : slots.size()), used);
            most -= given - left_;
            if (is_in_doubt_ && may_guess() && !is_done()) exact_.reset();  // kept at the end for open_quote()
            is_in_doubt_ = false;
        } catch (const DoubtfulBatch&) {
            most -= given - left_;
            doubt();
        }
    }
}

}  // namespace cleave
