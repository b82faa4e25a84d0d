// Run k begins at the first record start that is found from byte begin + k * size on:
//
//   inside = whether that byte looks as if it stood inside quotes
//   walk on from there in this state, up to the first record start
//
// A byte looks inside if the next quote whose side is clear is a closing one. Quotes side by side count as one if their
// number is odd; an even number opens and closes nothing. A quote opens if only the byte before it ends a field, and
// closes if only the byte behind it does. Else its side is not clear. The idea to guess and check is that of Ge, Li,
// Eilebrecht, Chandramouli and Kossmann, "Speculative Distributed CSV Data Parsing for Big Data Analytics" (2019).
#include "scan/guessed_runs.h"

#include <algorithm>
#include <cstring>

#include "base/bits.h"

namespace cleave {
namespace {

// How far a quote is looked for, and how much is walked at a time.
constexpr std::uint64_t kWindow = std::uint64_t{16} << 10;
constexpr std::uint64_t kStride = 1024;

}  // namespace

GuessedRuns::GuessedRuns(std::span<const std::uint8_t> blob, BlobRange range, const Dialect& dialect, std::size_t size)
    : blob_(blob.first(range.offset + range.size)),
      begin_(range.offset),
      dialect_(dialect),
      size_(size),
      count_((range.size + size - 1) / size) {}

bool GuessedRuns::next(std::uint64_t& number) {
    if (next_ == count_) return false;
    number = next_++;
    return true;
}

BlobRange GuessedRuns::find(std::uint64_t number, Walker& walker) const {
    const std::uint64_t begin = begin_of(number, walker);
    const std::uint64_t end = begin_of(number + 1, walker);
    if (end < begin) throw DoubtfulRun();
    return {begin, end - begin};
}

std::uint64_t GuessedRuns::reach(std::uint64_t number) const {
    return std::min((number + 1) * size_ + std::max<std::uint64_t>(size_, kWindow + 1), blob_.size() - begin_);
}

// Where a run starts. If no record start is found, that is where the next `size` bytes start: a run that ends there is
// sound only if a record starts there by chance. A run never ends between a CR and an LF that are one line end: it
// would look sound.
std::uint64_t GuessedRuns::begin_of(std::uint64_t number, Walker& walker) const {
    if (number == 0) return begin_;
    if (number == count_) return blob_.size();
    std::uint64_t from = begin_ + number * size_;
    const std::uint64_t end = std::min<std::uint64_t>(from + size_, blob_.size());
    from -= count_before(from, dialect_.quote);  // not in the middle of quotes that stand side by side
    const bool begins_field = from == begin_ || (ends_field(blob_[from - 1]) && !is_escaped(from - 1));
    const State outside = begins_field ? State::kFieldStart : State::kUnquoted;
    walker.seek(from, 0, looks_inside(from) ? State::kQuoted : outside);
    for (std::uint64_t at = from; at < end; at += kStride) {
        const auto words = walker.walk(blob_.subspan(at, std::min(kStride, end - at)));
        for (std::size_t i = 0; i < words.size(); ++i) {
            if (words[i] != 0) return at + i * 64 + first_bit(words[i]);
        }
    }
    const bool is_in_pair = end < blob_.size() && blob_[end - 1] == '\r' && blob_[end] == '\n';
    return dialect_.terminator == Terminator::kAny && is_in_pair ? end + 1 : end;
}

bool GuessedRuns::ends_field(std::uint8_t byte) const {
    return byte == dialect_.delimiter || byte == '\n' || byte == '\r';
}

// How many of these bytes stand side by side before the offset; no more than kStride are counted.
std::uint64_t GuessedRuns::count_before(std::uint64_t offset, std::optional<std::uint8_t> byte) const {
    const std::uint64_t most = std::min(offset - begin_, kStride);
    std::uint64_t count = 0;
    while (byte && count < most && blob_[offset - count - 1] == *byte) ++count;
    return count;
}

bool GuessedRuns::is_escaped(std::uint64_t offset) const { return count_before(offset, dialect_.escape) % 2 != 0; }

bool GuessedRuns::looks_inside(std::uint64_t offset) const {
    if (!dialect_.quote) return false;
    const std::uint64_t end = std::min<std::uint64_t>(offset + kWindow, blob_.size());
    bool is_flipped = false;  // an odd number of quotes whose side is not clear was passed
    while (offset < end) {
        const void* found = std::memchr(&blob_[offset], *dialect_.quote, end - offset);
        if (found == nullptr) return false;
        const auto first = static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(found) - blob_.data());
        offset = first + 1;
        if (is_escaped(first)) continue;
        while (offset < end && blob_[offset] == *dialect_.quote) ++offset;
        if ((offset - first) % 2 == 0) continue;
        const bool opens = first == begin_ || ends_field(blob_[first - 1]);
        const bool closes = offset == blob_.size() || ends_field(blob_[offset]);
        if (opens != closes) return closes != is_flipped;
        is_flipped = !is_flipped;
    }
    return false;
}

}  // namespace cleave
