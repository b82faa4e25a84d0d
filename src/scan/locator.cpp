// Locate: doc/design.md, "The scan".
//
//   find the block: by the record in the index's entries, or by the offset
//   walk the block from its true start state, slice by slice, as far as the question needs; keep a bit for every record
//       start and, for every 64 words of bits, how many records start before them; if the index was read from a file,
//       walk from the first record start of the block
//   from record to offset: find those words by their counts, then the word, then the bit
//   from offset to record: add up the count, the words and the bits before the offset
#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/bits.h"
#include "cleave/scan.h"
#include "scan/walker.h"

namespace cleave {
namespace {

constexpr std::size_t kNoBlock = SIZE_MAX;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kRankWords = 64;  // words between two ranks
constexpr std::size_t kSliceSize = std::size_t{64} << 10;
static_assert(kSliceSize % (kRankWords * kWordBits) == 0);

void check(const Grid& grid) {
    if (grid.step == 0 || grid.step > kMaxGridStep || grid.phase >= grid.step) {
        throw std::invalid_argument("grid: the step is not in 1 .. " + std::to_string(kMaxGridStep) +
                                    ", or the phase is not below it");
    }
}

// The first offset of the grid at `offset` or after it. `offset` is at most the size of an input, so nothing overflows.
std::uint64_t at_or_after_on(const Grid& grid, std::uint64_t offset) {
    return offset + (grid.step + grid.phase - offset % grid.step) % grid.step;
}

}  // namespace

Locator::Locator(const RecordIndex& index)
    : index_(&index), walker_(std::make_unique<Walker>(index.dialect_, *index.kernel_, index.bom_)), block_(kNoBlock) {}

Locator::~Locator() = default;

// Makes this the current block. Nothing of it is walked yet.
void Locator::load(std::size_t block) {
    if (block == block_) return;
    const RecordIndex::Entry& entry = index_->entries_[block];
    origin_ = index_->block_begin(block) + entry.begin;
    walker_->seek(origin_, entry.records_before, static_cast<State>(entry.state));
    block_ = block;
    starts_.clear();
    ranks_.clear();
    cursor_.bits = 0;
}

// Walks the next slice of the block. If nothing is left of the block, the bytes have changed.
void Locator::walk_on() {
    const std::uint64_t offset = walker_->offset();
    const std::size_t size = std::min<std::uint64_t>(index_->block_end(block_) - offset, kSliceSize);
    if (size == 0) throw InputChangedError();
    auto rank = static_cast<std::uint32_t>(walker_->records() - index_->entries_[block_].records_before);
    for (const std::uint64_t word : walker_->walk(index_->blob_->lend(offset, size, buffer_))) {
        if (starts_.size() % kRankWords == 0) ranks_.push_back(rank);
        starts_.push_back(word);
        rank += count_bits(word);
    }
}

// Walks the block up to this byte of it, counted from origin_.
void Locator::reach(std::size_t byte) {
    while (starts_.size() <= byte / kWordBits) walk_on();
}

Boundary Locator::start_of(std::uint64_t record) {
    if (record >= index_->findings_.records) return index_->end();
    if (cursor_.bits != 0 && record == cursor_.record + 1) {
        cursor_.bits &= cursor_.bits - 1;
        while (cursor_.bits == 0 && ++cursor_.word < starts_.size()) cursor_.bits = starts_[cursor_.word];
        cursor_.record = record;
    } else {
        cursor_.bits = 0;
    }
    if (cursor_.bits == 0) find(record);
    return {origin_ + cursor_.word * kWordBits + first_bit(cursor_.bits), record};
}

// Moves the cursor to the record, which exists.
void Locator::find(std::uint64_t record) {
    const auto& entries = index_->entries_;
    const auto after = std::ranges::upper_bound(entries, record, {}, &RecordIndex::Entry::records_before);
    load(static_cast<std::size_t>(after - entries.begin()) - 1);
    while (walker_->records() <= record) walk_on();
    auto left = static_cast<std::uint32_t>(record - entries[block_].records_before);
    const auto rank = std::ranges::upper_bound(ranks_, left) - 1;
    left -= *rank;
    auto word = static_cast<std::size_t>(rank - ranks_.begin()) * kRankWords;
    for (std::uint32_t here = count_bits(starts_[word]); left >= here; here = count_bits(starts_[word])) {
        left -= here;
        ++word;
    }
    std::uint64_t bits = starts_[word];
    for (; left > 0; --left) bits &= bits - 1;
    cursor_ = {record, word, bits};
}

// How many records start before `offset`, which is at most the size.
std::uint64_t Locator::records_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->findings_.records;
    const auto block = static_cast<std::size_t>(offset / index_->block_size_);
    load(block);
    if (offset <= origin_) return index_->entries_[block].records_before;
    const auto bit = static_cast<std::size_t>(offset - origin_);
    reach(bit);
    const std::size_t word = bit / kWordBits;
    std::uint64_t records = index_->entries_[block].records_before + ranks_[word / kRankWords];
    for (std::size_t i = word / kRankWords * kRankWords; i < word; ++i) records += count_bits(starts_[i]);
    const std::uint64_t below = (std::uint64_t{1} << (bit % kWordBits)) - 1;
    return records + count_bits(starts_[word] & below);
}

Boundary Locator::at_or_after(std::uint64_t offset) { return start_of(records_before(offset)); }

Boundary Locator::at_or_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->end();
    return start_of(records_before(offset + 1) - 1);
}

// Whether a record starts at `offset`, which is below the size.
bool Locator::starts_record(std::uint64_t offset) {
    load(static_cast<std::size_t>(offset / index_->block_size_));
    if (offset < origin_) return false;
    const auto bit = static_cast<std::size_t>(offset - origin_);
    reach(bit);
    return (starts_[bit / kWordBits] >> (bit % kWordBits) & 1) != 0;
}

std::optional<Boundary> Locator::first_on(const Grid& grid, std::uint64_t from, std::uint64_t to) {
    check(grid);
    const std::uint64_t end = std::min(to, index_->findings_.size);
    if (from >= end) return std::nullopt;
    for (std::uint64_t offset = at_or_after_on(grid, from); offset < end; offset += grid.step) {
        if (starts_record(offset)) return Boundary{offset, records_before(offset)};
    }
    return std::nullopt;
}

std::optional<Boundary> Locator::last_on(const Grid& grid, std::uint64_t from, std::uint64_t to) {
    check(grid);
    const std::uint64_t end = std::min(to, index_->findings_.size);
    if (from >= end) return std::nullopt;
    const std::uint64_t first = at_or_after_on(grid, from);
    for (std::uint64_t left = first < end ? (end - 1 - first) / grid.step + 1 : 0; left > 0; --left) {
        const std::uint64_t offset = first + (left - 1) * grid.step;
        if (starts_record(offset)) return Boundary{offset, records_before(offset)};
    }
    return std::nullopt;
}

}  // namespace cleave
