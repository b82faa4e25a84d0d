#include "rows/records/batch_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cleave {
namespace {

BatchOptions without_meter(BatchOptions options) {
    options.meter = nullptr;
    options.memory = MemoryManager::or_default(options.memory);
    return options;
}

}  // namespace

BatchLoop::BatchLoop(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect,
                     const Kernel& kernel, BatchAccess access, const BatchOptions& options, BatchCheck* check,
                     std::span<const std::uint8_t> before)
    : blob_(&blob),
      dialect_(dialect),
      kernel_(kernel),
      access_(access),
      options_(without_meter(options)),
      meter_(options.meter),
      check_(check),
      can_guess_(access == BatchAccess::kFile ||
                 !blob.mapped(range.offset, std::min<std::uint64_t>(range.size, 1)).empty()),
      end_(range.offset + range.size),
      at_{range.offset, record} {
    blob.will_read(range);
    if (check != nullptr) trail_.emplace(*check, range.offset, before);
}

BatchLoop::BatchLoop(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel,
                     const BatchOptions& options)
    : blob_(nullptr),
      dialect_(dialect),
      kernel_(kernel),
      access_(BatchAccess::kFile),
      options_(without_meter(options)),
      meter_(nullptr),
      check_(nullptr),
      can_guess_(false),
      end_(std::numeric_limits<std::uint64_t>::max()),
      at_(skipped) {
    BatchOptions of_reader = options_;
    of_reader.meter = options.meter;
    exact_.emplace(stream, skipped, dialect, kernel, of_reader);
}

ExactBatches& BatchLoop::exact() {
    guessed_.reset();
    if (!exact_) {
        exact_.emplace(*blob_, rest(), at_.record, dialect_, kernel_, options_);
    }
    return *exact_;
}

// Prepares guessed or exact batches. Returns how many of the threads may work on them.
unsigned BatchLoop::prepare(unsigned threads) {
    if (is_in_doubt_ || !may_guess()) {
        exact();
        return is_in_doubt_ && may_guess() ? 1 : threads;
    }
    if (!guessed_) guessed_.emplace(*blob_, rest(), dialect_, access_, options_);
    return guessed_->readers(threads);
}

bool BatchLoop::pull(OwnedBatch& batch) {
    if (left_ == 0) return false;
    --left_;
    if (guessed_) return guessed_->next(batch);
    if (exact_->next(batch)) return true;
    is_exhausted_ = true;
    return false;
}

void BatchLoop::compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads) {
    guessed_.reset();
    if (offset != at_.offset) throw InputChangedError();
    if (check_ == nullptr) return;
    check_->compare(offset, bytes, threads);
    trail_->take(bytes);
}

void BatchLoop::advance(std::uint64_t size, std::uint64_t records) {
    at_ = {at_.offset + size, at_.record + records};
    if (meter_ != nullptr) meter_->scanned += size;
}

void BatchLoop::doubt() {
    ++doubts_;
    is_in_doubt_ = true;
    guessed_.reset();
    exact_.reset();
}

void BatchLoop::finish() {
    if (trail_) trail_->end();
}

ValueBuffer BatchLoop::take_copy(bool is_exact) {
    const MutexLock lock(mutex_);
    if (is_exact && large_.size() > 0) return std::exchange(large_, ValueBuffer(options_.memory));
    if (idle_.empty()) return ValueBuffer(options_.memory);
    ValueBuffer copy = std::move(idle_.back());
    idle_.pop_back();
    return copy;
}

void BatchLoop::give_copy(ValueBuffer copy) {
    const MutexLock lock(mutex_);
    if (!is_large(copy.size())) {
        idle_.push_back(std::move(copy));
    } else if (large_.size() < copy.size()) {
        large_ = std::move(copy);
    }
}

}  // namespace cleave
