// Batch k begins at the record start that is guessed from offset k * size on, and ends at the one that is guessed from
// offset (k + 1) * size on. Neighbouring batches guess their common boundary from the same bytes, so they agree on it.
//
// In a mapping, the guess is made in place and the batch is then copied. Without one, a part of the file is read that
// contains the batch and all bytes that the two guesses examine.
#include "rows/records/guessed_batches.h"

#include <algorithm>

#include "rows/records/guessed_start.h"
#include "rows/records/private_bytes.h"

namespace cleave {
namespace {

// In most files a record starts within this many bytes.
constexpr std::size_t kSearchInFile = std::size_t{16} << 10;

}  // namespace

GuessedBatches::GuessedBatches(const Blob& blob, BlobRange range, const Dialect& dialect, BatchAccess access,
                               const BatchOptions& options)
    : blob_(blob),
      range_(range),
      dialect_(dialect),
      size_(options.size),
      search_(access == BatchAccess::kFile ? std::min(options.size, kSearchInFile) : options.size) {
    if (access == BatchAccess::kFile) return;
    mapped_ = blob.mapped(range.offset, range.size);
    if (!mapped_.empty()) ahead_.emplace(blob_, range.offset, range.offset + range.size);
}

bool GuessedBatches::next(OwnedBatch& batch) {
    if (next_ * size_ >= range_.size) return false;
    batch.number = next_++;
    batch.is_exact = batch.is_cut = false;
    return true;
}

void GuessedBatches::find(OwnedBatch& batch, Walker& walker) {
    const std::uint64_t from = batch.number * size_;
    const std::uint64_t to = std::min(from + size_, range_.size);
    // All bytes that the two guesses examine, and everything in between.
    const std::uint64_t low = from - std::min<std::uint64_t>(from, kGuessBehind);
    const std::uint64_t high = std::min(to + std::max(kGuessAhead, search_ + 1), range_.size);
    std::span<const std::uint8_t> part;
    if (ahead_) {
        ahead_->wait_for(high);
        part = mapped_.subspan(low, high - low);
    } else {
        batch.copy.renew(static_cast<std::size_t>(high - low));
        const std::span<std::uint8_t> copy(batch.copy.data(), static_cast<std::size_t>(high - low));
        blob_.read(range_.offset + low, copy);
        part = copy;
    }
    const auto guess = [&](std::uint64_t offset) {
        return guessed_start(part, static_cast<std::size_t>(offset - low), search_, dialect_, walker);
    };
    const std::size_t begin = from == 0 ? 0 : guess(from);
    const std::size_t end = to == range_.size ? part.size() : guess(to);
    if (end < begin) throw DoubtfulBatch();
    batch.place = {range_.offset + low + begin, 0};
    batch.bytes = part.subspan(begin, end - begin);
    batch.is_last = low + end == range_.size;
}

void GuessedBatches::fill(OwnedBatch& batch, Walker& walker) {
    find(batch, walker);
    if (!ahead_) return;
    batch.copy.renew(batch.bytes.size());
    copy_bytes(blob_, batch.place.offset, {batch.copy.data(), batch.bytes.size()});
    batch.bytes = {batch.copy.data(), batch.bytes.size()};
}

}  // namespace cleave
