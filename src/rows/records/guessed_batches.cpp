// Batch k begins at the record start that is guessed from offset k * size on, and ends at the one that is guessed from
// offset (k + 1) * size on. Neighbouring batches guess their common boundary from the same bytes, so they agree on it.
//
// In a mapping, the guess is made in place and the batch is then copied. Without one, a part of the file is read that
// contains the batch and all bytes that the two guesses examine.
#include "rows/records/guessed_batches.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/bits.h"
#include "rows/records/private_bytes.h"

namespace cleave {
namespace {

// The idea:
//
//   inside = whether the byte at `from` seems to be inside quotes
//   walk from there in this state, up to the first record start
//
// A byte seems to be inside quotes if the next clear quote closes a section. A quote clearly opens a section if the
// byte before it ends a field and the byte after it does not, and clearly closes one in the opposite case; otherwise it
// is unclear. Each unclear quote on the way reverses the answer. An odd number of adjacent quotes counts as one quote;
// an even number opens and closes nothing. The technique of guessing and then checking comes from Ge, Li, Eilebrecht,
// Chandramouli and Kossmann, "Speculative Distributed CSV Data Parsing for Big Data Analytics" (2019).

// kWindow: how far ahead to look for a quote. kStride: how much to walk at a time, and how many bytes to count before
// an offset.
constexpr std::size_t kWindow = std::size_t{16} << 10;
constexpr std::size_t kStride = 1024;
static_assert(kGuessAhead > kWindow && kGuessBehind > 2 * kStride + 1);

class Guess {
public:
    Guess(std::span<const std::uint8_t> bytes, const Dialect& dialect) : bytes_(bytes), dialect_(dialect) {}

    bool ends_field(std::uint8_t byte) const { return byte == dialect_.delimiter || byte == '\n' || byte == '\r'; }

    // How many adjacent bytes right before the offset have this value, up to kStride.
    std::size_t count_before(std::size_t offset, std::optional<std::uint8_t> byte) const {
        const std::size_t most = std::min(offset, kStride);
        std::size_t count = 0;
        while (byte && count < most && bytes_[offset - count - 1] == *byte) ++count;
        return count;
    }

    bool is_escaped(std::size_t offset) const { return count_before(offset, dialect_.escape) % 2 != 0; }

    bool looks_inside(std::size_t offset) const {
        if (!dialect_.quote) return false;
        const std::size_t end = std::min(offset + kWindow, bytes_.size());
        bool is_flipped = false;  // whether an odd number of unclear quotes was passed
        while (offset < end) {
            const void* found = std::memchr(&bytes_[offset], *dialect_.quote, end - offset);
            if (found == nullptr) return false;
            const auto first = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes_.data());
            offset = first + 1;
            if (is_escaped(first)) continue;
            while (offset < end && bytes_[offset] == *dialect_.quote) ++offset;
            if ((offset - first) % 2 == 0) continue;
            const bool opens = first == 0 || ends_field(bytes_[first - 1]);
            const bool closes = offset == bytes_.size() || ends_field(bytes_[offset]);
            if (opens != closes) return closes != is_flipped;
            is_flipped = !is_flipped;
        }
        return false;
    }

private:
    std::span<const std::uint8_t> bytes_;
    const Dialect& dialect_;
};

// In most files a record starts within this many bytes.
constexpr std::size_t kSearchInFile = std::size_t{16} << 10;

}  // namespace

std::size_t guessed_start(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t search,
                          const Dialect& dialect, Walker& walker) {
    const Guess guess(bytes, dialect);
    const std::size_t end = std::min(from + search, bytes.size());
    from -= guess.count_before(from, dialect.quote);  // so that it is not in the middle of adjacent quotes
    const bool begins_field = from == 0 || (guess.ends_field(bytes[from - 1]) && !guess.is_escaped(from - 1));
    const State outside = begins_field ? State::kFieldStart : State::kUnquoted;
    walker.seek(from, 0, guess.looks_inside(from) ? State::kQuoted : outside);
    for (std::size_t at = from; at < end; at += kStride) {
        const auto words = walker.walk(bytes.subspan(at, std::min(kStride, end - at)));
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] != 0) return at + i * 64 + first_bit(words[i]);
        }
    }
    const bool is_in_pair = end < bytes.size() && bytes[end - 1] == '\r' && bytes[end] == '\n';
    return dialect.terminator == Terminator::kAny && is_in_pair ? end + 1 : end;
}

GuessedBatches::GuessedBatches(const Blob& blob, BlobRange range, const Dialect& dialect, BatchAccess access,
                               const BatchOptions& options)
    : blob_(blob),
      range_(range),
      dialect_(dialect),
      size_(options.size),
      mapped_(access == BatchAccess::kMapping ? blob.mapped(range.offset, range.size)
                                              : std::span<const std::uint8_t>()),
      search_(mapped_.empty() ? std::min(options.size, kSearchInFile) : options.size) {
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
