// Summarise and resolve: DESIGN.md section 2.
#include <algorithm>

#include "cleave/foreign.h"
#include "cleave/scan.h"
#include "dialect/contract.h"
#include "io/mapping.h"
#include "io/read_ahead.h"
#include "scan/carry.h"
#include "scan/contract.h"
#include "scan/header_finder.h"
#include "scan/parallel.h"
#include "scan/rescan.h"
#include "scan/summarise.h"
#include "scan/walker.h"

namespace cleave {

namespace {

void report(const Machine& machine, std::uint64_t scanned) {
    if (machine.meter != nullptr) machine.meter->scanned += scanned;
}

}  // namespace

// What a worker has learnt of a block.
struct RecordIndex::Block {
    SummarisedBlock summarised;
    Rescan rescan;
};

RecordIndex::RecordIndex(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Machine& machine,
                         const Cancellation* cancellation, LastRecord last)
    : bytes_(bytes),
      bom_(bom_size(bytes)),
      dialect_(checked(dialect)),
      kernel_(&checked_kernel(machine)),
      block_size_(machine.block_size) {
    refuse_foreign(bytes);
    std::vector<Block> blocks = summarise(machine, cancellation);
    resolve(blocks, cancellation);
    if (last == LastRecord::kLeftOut && !is_last_record_complete()) leave_out_last_record(blocks, cancellation);
}

std::vector<RecordIndex::Block> RecordIndex::summarise(const Machine& machine, const Cancellation* cancellation) const {
    std::vector<Block> blocks(block_count());
    ReadAhead ahead(bytes_);
    parallel_for(blocks.size(), machine.threads, [&, rescanner = Rescanner(dialect_, *kernel_)](std::size_t i) mutable {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::size_t size = block(i).size();
        ahead.wait_for(i * block_size_ + size);
        blocks[i] = summarise_block(i, rescanner);
        if (has_faulted(bytes_)) throw InputChangedError();  // the rest would be zeros
        report(machine, size);
    });
    return blocks;
}

RecordIndex::Block RecordIndex::summarise_block(std::size_t number, Rescanner& rescanner) const {
    Block block;
    const std::uint64_t offset = number * block_size_;
    const std::uint64_t end = offset + this->block(number).size();
    const std::uint64_t begin = std::min(std::max(offset, bom_), end);
    block.summarised = cleave::summarise_block(bytes_, bom_, begin, end, dialect_, *kernel_);
    if (begin == offset) block.rescan = rescanner.rescan(this->block(number), block.summarised);
    if (number == 0 && bom_ > 0) ++block.summarised.summary.records[0];  // starts at the byte order mark
    return block;
}

// Follows the one global bit from block to block. What a walk leaves behind may be more than the next block could read
// off the bytes: a quote that turned out to be data, for one.
void RecordIndex::resolve(const std::vector<Block>& blocks, const Cancellation* cancellation) {
    Walker walker(dialect_, *kernel_, bom_, true);
    entries_.clear();
    entries_.reserve(blocks.size());
    std::uint64_t records = 0;
    std::uint8_t inside = 0;
    std::optional<State> walked;  // the state here, if the last block was walked
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const SummarisedBlock& block = blocks[i].summarised;
        Carry before = block.before;
        before.inside = inside;
        const State local = state_of(before, dialect_.escape_scope);
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
    HeaderFinder header(dialect_, bom_);
    header.feed(bytes_);
    findings_ = Findings{bytes_.size(), records, header.records(), std::nullopt, walker.findings().divergence};
    if (inside != 0) findings_.open_quote = find_open_quote();
}

// Whether there is nothing after the last terminator outside quotes.
bool RecordIndex::is_last_record_complete() const {
    if (entries_.empty()) return true;
    const std::size_t last = entries_.size() - 1;
    Walker walker(dialect_, *kernel_, bom_, false);
    walker.seek(last * block_size_, entries_[last].records_before, static_cast<State>(entries_[last].state));
    walker.pass(block(last));
    return walker.state() == State::kRecordStart || walker.state() == State::kCarriageReturn;
}

// Makes this the index of the bytes before the last record. The blocks before that record are not read again.
void RecordIndex::leave_out_last_record(std::vector<Block>& blocks, const Cancellation* cancellation) {
    bytes_ = bytes_.first(Locator(*this).start_of(findings_.records - 1).offset);
    blocks.resize(block_count());
    if (!blocks.empty()) {
        Rescanner rescanner(dialect_, *kernel_);
        blocks.back() = summarise_block(blocks.size() - 1, rescanner);
    }
    resolve(blocks, cancellation);
}

std::size_t RecordIndex::block_count() const { return (bytes_.size() + block_size_ - 1) / block_size_; }

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

RecordIndex index_records(Input& input, const Dialect& dialect, const Machine& machine) {
    const auto bytes = input.bytes();
    const LastRecord last = input.is_snapshot() ? LastRecord::kLeftOut : LastRecord::kKept;
    RecordIndex index(bytes, dialect, machine, input.cancellation(), last);
    if (input.is_snapshot()) input.leave_out(bytes.size() - index.findings().size);
    return index;
}

}  // namespace cleave
