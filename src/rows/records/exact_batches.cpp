// Walks the next bytes and cuts before the last record start in them. The bytes of a blob are read straight into the
// batch. The bytes of a stream are copied, because the next read replaces them:
//
//   batch = the record in progress so far, and the bytes up to the last record start; the rest is carried over
#include "rows/records/exact_batches.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/too_long.h"
#include "rows/records/private_bytes.h"

namespace cleave {
namespace {

// For a long record in a blob, the buffer grows by this factor, which must be at least 2.
constexpr std::size_t kGrowth = 4;

void append(ValueBuffer& buffer, std::size_t& size, std::span<const std::uint8_t> bytes) {
    if (bytes.empty()) return;
    buffer.reserve(size + bytes.size());
    std::memcpy(buffer.data() + size, bytes.data(), bytes.size());
    size += bytes.size();
}

}  // namespace

ExactBatches::ExactBatches(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect,
                           const Kernel& kernel, const BatchOptions& options)
    : blob_(&blob),
      options_(options),
      walker_(dialect, kernel),
      end_(range.offset + range.size),
      begin_{range.offset, record},
      read_(range.offset),
      is_done_(range.size == 0),
      carried_(MemoryManager::or_default(options.memory)) {
    walker_.seek(range.offset, record, State::kRecordStart);
}

ExactBatches::ExactBatches(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel,
                           const BatchOptions& options)
    : blob_(nullptr),
      options_(options),
      walker_(dialect, kernel),
      end_(std::numeric_limits<std::uint64_t>::max()),
      skipped_(skipped.offset),
      begin_(skipped),
      read_(skipped.offset),
      reader_(std::make_unique<SequentialReader>(stream, options.meter)),
      carried_(MemoryManager::or_default(options.memory)) {
    walker_.seek(skipped.offset, skipped.record, State::kRecordStart);
}

bool ExactBatches::next(OwnedBatch& batch) {
    if (is_cut_) throw_too_long(options_.max_record, begin_);
    batch.is_exact = true;
    batch.is_cut = false;
    if (is_done_) return false;
    return blob_ == nullptr ? next_of_stream(batch) : next_of_blob(batch);
}

void ExactBatches::require_whole(const Batch& batch) const {
    if (batch.is_cut) throw_too_long(options_.max_record, batch.place);
}

// Returns the next bytes of a stream, no more than the size of a batch; none at the end.
std::span<const std::uint8_t> ExactBatches::read_on() {
    while (chunk_.empty()) {
        chunk_ = reader_->read();
        if (chunk_.empty()) return {};
        const auto skip = static_cast<std::size_t>(std::min<std::uint64_t>(skipped_, chunk_.size()));
        chunk_ = chunk_.subspan(skip);
        skipped_ -= skip;
    }
    const auto part = chunk_.first(std::min(options_.size, chunk_.size()));
    chunk_ = chunk_.subspan(part.size());
    return part;
}

// Begins the batch with the record in progress, and returns the size of that record so far. Swaps the two buffers,
// unless the batch's buffer has held a long record, because the other buffer need not grow as large.
std::size_t ExactBatches::take_carried(OwnedBatch& batch) {
    const std::size_t size = std::exchange(carried_size_, 0);
    if (batch.copy.size() > kGrowth * options_.size && size <= batch.copy.size()) {
        if (size > 0) std::memcpy(batch.copy.data(), carried_.data(), size);
    } else {
        std::swap(batch.copy, carried_);
    }
    return size;
}

bool ExactBatches::next_of_stream(OwnedBatch& batch) {
    batch.place = begin_;
    std::size_t size = take_carried(batch);
    const auto finish = [&] {
        batch.bytes = {batch.copy.data(), size};
        return size > 0;
    };
    for (;;) {
        const auto bytes = read_on();
        if (bytes.empty()) {
            is_done_ = true;
            return finish();
        }
        const auto last = Walker::last_of(walker_.walk(bytes));
        const std::uint64_t start = last ? read_ + *last : begin_.offset;
        const auto done = start > begin_.offset ? start - read_ : bytes.size();
        append(batch.copy, size, bytes.first(done));
        read_ += bytes.size();
        if (start > begin_.offset) {
            append(carried_, carried_size_, bytes.subspan(done));
            begin_ = {start, walker_.records() - 1};
            return finish();
        }
        if (is_too_long()) {
            batch.is_cut = is_cut_ = true;
            return finish();
        }
    }
}

// Like next_of_stream(), but the bytes are read straight into the batch.
bool ExactBatches::next_of_blob(OwnedBatch& batch) {
    batch.place = begin_;
    std::size_t size = take_carried(batch);
    while (read_ < end_) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(options_.size, end_ - read_));
        if (options_.meter != nullptr) options_.meter->scanned += part;
        // The memory reserved for a long record is touched only as far as the record extends.
        if (size + part > batch.copy.size()) batch.copy.reserve(std::max(size + part, kGrowth * size));
        const std::span<std::uint8_t> bytes{batch.copy.data() + size, part};
        blob_->read(read_, bytes);
        const auto last = Walker::last_of(walker_.walk(bytes));
        const std::uint64_t start = last ? read_ + *last : begin_.offset;
        read_ += part;
        size += part;
        if (start > begin_.offset) {
            const auto rest = static_cast<std::size_t>(read_ - start);
            append(carried_, carried_size_, bytes.last(rest));
            begin_ = {start, walker_.records() - 1};
            batch.bytes = {batch.copy.data(), size - rest};
            return true;
        }
        if (is_too_long()) {
            batch.is_cut = is_cut_ = true;
            break;
        }
    }
    is_done_ = true;
    batch.bytes = {batch.copy.data(), size};
    return size > 0;
}

}  // namespace cleave
