// Summarise, resolve, locate: DESIGN.md section 2.
#include <algorithm>
#include <bit>
#include <cassert>

#include "cleave/scan.h"
#include "scan/carry.h"
#include "scan/parallel.h"
#include "scan/rescan.h"
#include "scan/summarise.h"
#include "scan/walker.h"

namespace cleave {
namespace {

constexpr std::size_t kNoBlock = SIZE_MAX;
constexpr std::size_t kWordBits = 64;
constexpr std::size_t kRankWords = 64;  // words between two ranks

// Where `number`-th set bit (from 0) of the word stands.
unsigned select_bit(std::uint64_t word, unsigned number) {
    for (; number > 0; --number) word &= word - 1;
    return static_cast<unsigned>(std::countr_zero(word));
}

// The first offset of the grid at `offset` or after it.
std::uint64_t at_or_after_on(const Grid& grid, std::uint64_t offset) {
    assert(grid.phase < grid.step);
    return offset + (grid.step + grid.phase - offset % grid.step) % grid.step;
}

}  // namespace

RecordIndex::RecordIndex(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Machine& machine,
                         const Cancellation* cancellation)
    : bytes_(bytes),
      bom_(bom_size(bytes)),
      dialect_(dialect),
      kernel_(machine.kernel != nullptr ? machine.kernel : &default_kernel()),
      block_size_(machine.block_size) {
    assert(machine.threads >= 1 && block_size_ >= 1 && block_size_ <= kMaxBlockSize);
    const std::size_t count = (bytes.size() + block_size_ - 1) / block_size_;

    struct Block {
        SummarisedBlock summarised;
        Rescan rescan;
    };
    std::vector<Block> blocks(count);
    parallel_for(count, machine.threads, [&, rescanner = Rescanner(dialect_, *kernel_)](std::size_t i) mutable {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::uint64_t end = std::min<std::uint64_t>((i + 1) * block_size_, bytes.size());
        const std::uint64_t begin = std::min(std::max<std::uint64_t>(i * block_size_, bom_), end);
        SummarisedBlock& summarised = blocks[i].summarised;
        summarised = summarise_block(bytes, bom_, begin, end, dialect_, *kernel_);
        if (begin == i * block_size_) blocks[i].rescan = rescanner.rescan(this->block(i), summarised);
        if (i == 0 && bom_ > 0) ++summarised.summary.records[0];  // starts at the byte order mark
    });

    // Follow the one global bit from block to block. What a walk leaves behind may be more than the next block could
    // read off the bytes: a quote that turned out to be data, for one.
    Walker walker(dialect, *kernel_, bom_, true);
    entries_.reserve(count);
    std::uint64_t records = 0;
    std::uint8_t inside = 0;
    std::optional<State> walked;  // the state here, if the last block was walked
    for (std::size_t i = 0; i < count; ++i) {
        const SummarisedBlock& block = blocks[i].summarised;
        Carry before = block.before;
        before.inside = inside;
        const State local = state_of(before, dialect.escape_scope);
        const State state = walked.value_or(local);
        entries_.push_back({records, static_cast<std::uint8_t>(state)});
        const bool suspect = block.summary.suspect[inside] != 0 && walker.exact();
        if (block.well_known && state == local && !suspect && !walker.apart()) {
            records += block.summary.records[inside];
            inside ^= block.summary.flips;
            walked.reset();
            continue;
        }
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (!walker.apart()) walker.seek(i * block_size_, records, state);
        pass_by(walker, this->block(i), blocks[i].rescan);
        records = walker.records();
        walked = walker.state();
        inside = is_quoted(*walked) ? 1 : 0;
    }
    findings_ = Findings{bytes.size(), records, std::nullopt, walker.findings().divergence};
    if (inside != 0) findings_.open_quote = find_open_quote();
}

std::span<const std::uint8_t> RecordIndex::block(std::size_t number) const {
    const std::size_t offset = number * block_size_;
    return bytes_.subspan(offset, std::min(block_size_, bytes_.size() - offset));
}

// The last record is the one left open: walk it.
std::optional<Place> RecordIndex::find_open_quote() const {
    const auto after = std::ranges::lower_bound(entries_, findings_.records, {}, &Entry::records_before);
    auto number = static_cast<std::size_t>(after - entries_.begin()) - 1;
    Walker walker(dialect_, *kernel_, bom_, false);
    walker.seek(number * block_size_, entries_[number].records_before, static_cast<State>(entries_[number].state));
    for (; number < entries_.size(); ++number) walker.pass(block(number));
    return walker.findings().open_quote;
}

Locator::Locator(const RecordIndex& index)
    : index_(&index),
      walker_(std::make_unique<Walker>(index.dialect_, *index.kernel_, index.bom_, false)),
      block_(kNoBlock) {}

Locator::~Locator() = default;

// Makes starts_ and ranks_ those of the block.
void Locator::load(std::size_t block) {
    if (block == block_) return;
    const RecordIndex::Entry& entry = index_->entries_[block];
    walker_->seek(block * index_->block_size_, entry.records_before, static_cast<State>(entry.state));
    starts_ = walker_->walk(index_->block(block));
    block_ = block;
    ranks_.clear();
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
        if (i % kRankWords == 0) ranks_.push_back(rank);
        rank += static_cast<std::uint32_t>(std::popcount(starts_[i]));
    }
}

Boundary Locator::start_of(std::uint64_t record) {
    if (record >= index_->findings_.records) return index_->end();
    const auto& entries = index_->entries_;
    const auto after = std::ranges::upper_bound(entries, record, {}, &RecordIndex::Entry::records_before);
    const auto block = static_cast<std::size_t>(after - entries.begin()) - 1;
    load(block);
    auto left = static_cast<std::uint32_t>(record - entries[block].records_before);
    const auto rank = std::ranges::upper_bound(ranks_, left) - 1;
    left -= *rank;
    auto word = static_cast<std::size_t>(rank - ranks_.begin()) * kRankWords;
    for (auto here = static_cast<std::uint32_t>(std::popcount(starts_[word])); left >= here;
         here = static_cast<std::uint32_t>(std::popcount(starts_[word]))) {
        left -= here;
        ++word;
    }
    return {block * index_->block_size_ + word * kWordBits + select_bit(starts_[word], left), record};
}

// How many records start before `offset`, which is at most the size.
std::uint64_t Locator::records_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->findings_.records;
    const auto block = static_cast<std::size_t>(offset / index_->block_size_);
    load(block);
    const auto bit = static_cast<std::size_t>(offset % index_->block_size_);
    const std::size_t word = bit / kWordBits;
    std::uint64_t records = index_->entries_[block].records_before + ranks_[word / kRankWords];
    for (std::size_t i = word / kRankWords * kRankWords; i < word; ++i) {
        records += static_cast<std::uint64_t>(std::popcount(starts_[i]));
    }
    const std::uint64_t below = (std::uint64_t{1} << (bit % kWordBits)) - 1;
    return records + static_cast<std::uint64_t>(std::popcount(starts_[word] & below));
}

Boundary Locator::at_or_after(std::uint64_t offset) { return start_of(records_before(offset)); }

Boundary Locator::at_or_before(std::uint64_t offset) {
    if (offset >= index_->findings_.size) return index_->end();
    return start_of(records_before(offset + 1) - 1);
}

// Whether one starts at `offset`, which is below the size.
bool Locator::starts_record(std::uint64_t offset) {
    load(static_cast<std::size_t>(offset / index_->block_size_));
    const auto bit = static_cast<std::size_t>(offset % index_->block_size_);
    return (starts_[bit / kWordBits] >> (bit % kWordBits) & 1) != 0;
}

std::optional<Boundary> Locator::first_on(const Grid& grid, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t end = std::min(to, index_->findings_.size);
    for (std::uint64_t offset = at_or_after_on(grid, from); offset < end; offset += grid.step) {
        if (starts_record(offset)) return Boundary{offset, records_before(offset)};
    }
    return std::nullopt;
}

std::optional<Boundary> Locator::last_on(const Grid& grid, std::uint64_t from, std::uint64_t to) {
    const std::uint64_t end = std::min(to, index_->findings_.size);
    const std::uint64_t first = at_or_after_on(grid, from);
    for (std::uint64_t left = first < end ? (end - 1 - first) / grid.step + 1 : 0; left > 0; --left) {
        const std::uint64_t offset = first + (left - 1) * grid.step;
        if (starts_record(offset)) return Boundary{offset, records_before(offset)};
    }
    return std::nullopt;
}

}  // namespace cleave
