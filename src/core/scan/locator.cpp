// The third step of a scan, locate; see "The scan" in doc/internals/design.md.
//
//   find the block: by the record number in the index's entries, or by the offset
//   walk the block from its true start state, slice by slice, as far as the question requires; keep a bit for every
//       record start and, for every 64 words of bits, how many records start before them; if the index was read from
//       a file, walk from the first record start of the block
//   if the question is about an offset far ahead in the block: summarise the bytes up to shortly before the offset,
//       and walk from there. A summary takes a quarter of the time of a walk. If it is suspect, the walk continues as
//       usual. A later question about the skipped bytes starts again at the start of the block, and skips nothing
//   from record to offset: find the 64 words from their counts, then the word, then the bit
//   from offset to record: add up the count, the words and the bits before the offset
#include <algorithm>
#include <string>
#include <utility>

#include "base/bits.h"
#include "cleave/error.h"
#include "cleave/scan.h"
#include "core/scan/carry.h"
#include "core/scan/summarise.h"
#include "core/scan/walker.h"

namespace cleave {
namespace {

constexpr std::size_t kNoBlock = SIZE_MAX;
constexpr std::size_t kRankWords = 64;  // words between two ranks
constexpr std::size_t kWalkedSize = std::size_t{64} << 10;
static_assert(kWalkedSize % (kRankWords * kWordBits) == 0);

// How many bytes before an offset to walk, so that the walk is likely to include the start of the record before it.
constexpr std::uint64_t kMargin = std::uint64_t{32} << 10;
// Skipping fewer bytes than this is not worth a summary.
constexpr std::uint64_t kLeastSkip = std::uint64_t{64} << 10;

void check(const Grid& grid) {
    if (grid.step == 0 || grid.step > kMaxGridStep || grid.phase >= grid.step) {
        throw ArgumentError("grid: the step must be 1 to " + std::to_string(kMaxGridStep) +
                            ", or the phase is not below it");
    }
}

// The first offset on the grid at or after `offset`. `offset` is at most the size of an input, so nothing overflows.
std::uint64_t at_or_after_on(const Grid& grid, std::uint64_t offset) {
    return offset + (grid.step + grid.phase - offset % grid.step) % grid.step;
}

}  // namespace

Locator::Locator(const RecordIndex& index)
    : index_(&index),
      walker_(std::make_unique<Walker>(index.dialect_, *index.kernel_, index.lead_)),
      block_(kNoBlock) {}

Locator::~Locator() = default;

// Makes this the current block, with nothing walked yet. It will be walked up to about `to`.
void Locator::load(std::size_t block, std::uint64_t to) {
    if (block == block_) return;
    const RecordIndex::Entry& entry = index_->entries_[block];
    const std::uint64_t begin = index_->block_begin(block) + entry.begin;
    const std::uint64_t from = begin - std::min(begin, kLookBack);
    const std::uint64_t end = std::min(std::max(to, begin + kWalkedSize), index_->block_end(block));
    index_->blob_->will_read({from, end - from});
    if (index_->is_read_) require_terminator(block);
    block_ = block;
    is_whole_ = false;
    restart(index_->block_begin(block) + entry.begin, entry.records_before, entry.state);
}

// A walk that began within a record would give wrong cuts, and an index file may, for whatever reason, ask for such a
// walk. Throws IndexError unless the byte before the first record of the block ends a record by itself.
void Locator::require_terminator(std::size_t block) {
    const std::uint64_t offset = index_->block_begin(block) + index_->entries_[block].begin;
    if (offset == 0 || offset >= index_->block_end(block)) return;  // no record starts in the block
    const auto bytes = index_->blob_->lend(offset - 1, 2, buffer_);
    const Terminator terminator = index_->dialect_.terminator;
    const bool ends_by_lf = bytes[0] == '\n' && terminator != Terminator::kCr;
    const bool ends_by_cr = bytes[0] == '\r' && terminator != Terminator::kLf;
    const bool is_within_crlf = ends_by_cr && terminator == Terminator::kAny && bytes[1] == '\n';
    if ((ends_by_lf || ends_by_cr) && !is_within_crlf) return;
    throw IndexError("it is wrong: no record starts at byte " + std::to_string(offset));
}

// Begins the walk of the block at `offset`.
void Locator::restart(std::uint64_t offset, std::uint64_t records, std::uint8_t state) {
    origin_ = offset;
    records_ = records;
    walker_->seek(offset, records, static_cast<State>(state));
    starts_.clear();
    ranks_.clear();
    cursor_.bits = 0;
}

// Makes the block that contains `offset` the current one. If `offset` is among the skipped bytes, goes back.
void Locator::visit(std::uint64_t offset) {
    load(static_cast<std::size_t>(offset / index_->block_size_), offset + kWalkedSize);
    const bool has_skipped = origin_ > index_->block_begin(block_) + index_->entries_[block_].begin;
    if (has_skipped && offset < origin_) go_back();
}

// Skips bytes of the current block if `offset`, which is in the block, is far ahead of the walk.
void Locator::approach(std::uint64_t offset) {
    const std::uint64_t walked = walker_->offset();
    if (is_whole_ || offset < walked + kMargin + kLeastSkip || walked < index_->lead_.size) return;
    const std::uint64_t end = offset - kMargin;
    const std::uint64_t from = walked - std::min(walked, kLookBack);
    const auto bytes = index_->blob_->lend(from, static_cast<std::size_t>(end - from), buffer_);
    const std::uint64_t bom = from < index_->lead_.size ? index_->lead_.size - from : 0;
    const SummarisedBlock block =
        summarise_block(bytes, bom, walked - from, bytes.size(), index_->dialect_, *index_->kernel_);
    auto at_end = local_carry(bytes, bom, bytes.size(), index_->dialect_);
    const State state = walker_->state();
    const std::size_t inside = is_quoted(state) ? 1 : 0;
    Carry before = block.before;
    before.inside = static_cast<std::uint8_t>(inside);
    const bool is_known = block.well_known && at_end && state_of(before, index_->dialect_.escape_scope) == state;
    if (!is_known || block.summary.suspect[inside] != 0) return;
    at_end->inside = static_cast<std::uint8_t>(inside ^ block.summary.flips);
    restart(end, walker_->records() + block.summary.records[inside],
            static_cast<std::uint8_t>(state_of(*at_end, index_->dialect_.escape_scope)));
}

// Starts again at the beginning of the block, without skipping, because the question is about bytes that were skipped.
void Locator::go_back() {
    const std::size_t block = std::exchange(block_, kNoBlock);
    load(block, index_->block_end(block));
    is_whole_ = true;
}

// Walks the next slice of the block. If nothing is left of the block, the bytes must have changed: throws
// InputChangedError.
void Locator::walk_on() {
    const std::uint64_t offset = walker_->offset();
    const std::size_t size = std::min<std::uint64_t>(index_->block_end(block_) - offset, kWalkedSize);
    if (size == 0) throw InputChangedError();
    auto rank = static_cast<std::uint32_t>(walker_->records() - records_);
    for (const std::uint64_t word : walker_->walk(index_->blob_->lend(offset, size, buffer_))) {
        if (starts_.size() % kRankWords == 0) ranks_.push_back(rank);
        starts_.push_back(word);
        rank += count_bits(word);
    }
}

// Walks the block up to and including byte `byte`, counted from origin_.
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

// Moves the cursor to the record, which must exist.
void Locator::find(std::uint64_t record) {
    const auto& entries = index_->entries_;
    const auto after = std::ranges::upper_bound(entries, record, {}, &RecordIndex::Entry::records_before);
    const auto block = static_cast<std::size_t>(after - entries.begin()) - 1;
    // Up to the end of the slice that it is in if all records of the block are equally long.
    const std::uint64_t before = entries[block].records_before;
    const std::uint64_t end = after == entries.end() ? index_->findings_.records : after->records_before;
    const double share = static_cast<double>(record - before) / static_cast<double>(end - before);
    const std::uint64_t begin = index_->block_begin(block) + entries[block].begin;
    const auto size = static_cast<double>(index_->block_end(block) - begin);
    const std::uint64_t slices = static_cast<std::uint64_t>(share * size) / kWalkedSize + 1;
    load(block, begin + slices * kWalkedSize);
    if (record < records_) go_back();
    while (walker_->records() <= record) walk_on();
    auto left = static_cast<std::uint32_t>(record - records_);
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

// How many records start before `offset`, which must be at most the size.
std::uint64_t Locator::records_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->findings_.records;
    visit(offset);
    if (offset <= origin_) return records_;
    approach(offset);
    const auto bit = static_cast<std::size_t>(offset - origin_);
    reach(bit);
    const std::size_t word = bit / kWordBits;
    std::uint64_t records = records_ + ranks_[word / kRankWords];
    for (std::size_t i = word / kRankWords * kRankWords; i < word; ++i) records += count_bits(starts_[i]);
    const std::uint64_t below = (std::uint64_t{1} << (bit % kWordBits)) - 1;
    return records + count_bits(starts_[word] & below);
}

Boundary Locator::at_or_after(std::uint64_t offset) { return start_of(records_before(offset)); }

Boundary Locator::at_or_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->end();
    return start_of(records_before(offset + 1) - 1);
}

// Whether a record starts at `offset`, which must be below the size.
bool Locator::starts_record(std::uint64_t offset) {
    visit(offset);
    if (offset < origin_) return false;
    approach(offset);
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
