// The first two steps of a scan, summarise and resolve; see "The scan" in doc/internals/design.md.
//
//   for each block, across all threads:
//       summarise it, once as if it began outside quotes, once as if inside
//       if the likelier of the two summaries is suspect: walk the block from that state (see rescan.h)
//   for each block, in order, with the true state at its start:
//       note that state and the number of records before the block
//       if nothing is suspect from that state: take the number of records and the end state from the summary
//       else: walk the block, except for what the rescan has walked from the same offset in the same state
#include <algorithm>

#include "cleave/foreign.h"
#include "cleave/scan.h"
#include "core/scan/block_summariser.h"
#include "core/scan/carry.h"
#include "core/scan/check_arguments.h"
#include "core/scan/header_finder.h"
#include "core/scan/walker.h"

namespace cleave {

namespace {

std::shared_ptr<const Blob> not_owned(const Blob& blob) { return {std::shared_ptr<const void>(), &blob}; }

}  // namespace

RecordIndex::RecordIndex(const Blob& blob, const Dialect& dialect, const Execution& execution,
                         const Cancellation* cancellation, LastRecord last, FirstBytes first)
    : RecordIndex(not_owned(blob), ValidDialect(dialect), execution, cancellation, last, first) {}

RecordIndex::RecordIndex(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Execution& execution,
                         const Cancellation* cancellation, LastRecord last)
    : RecordIndex(std::make_shared<MemoryBlob>(bytes), ValidDialect(dialect), execution, cancellation, last,
                  FirstBytes::kExamined) {}

RecordIndex::RecordIndex(std::shared_ptr<const Blob> blob, const ValidDialect& dialect, const Execution& execution,
                         const Cancellation* cancellation, LastRecord last, FirstBytes first)
    : blob_(std::move(blob)),
      size_(blob_->size()),
      dialect_(dialect),
      kernel_(&checked_kernel(execution)),
      block_size_(execution.block_size),
      threads_(execution.thread_count()),
      cancellation_(cancellation),
      memory_(execution.memory) {
    if (first != FirstBytes::kData) {
        std::vector<std::uint8_t> buffer;
        const auto head = blob_->lend(0, static_cast<std::size_t>(std::min<std::uint64_t>(size_, kSniffSize)), buffer);
        lead_ = lead_of(head, dialect_);
        if (first == FirstBytes::kExamined) refuse_foreign(head);
    }
    std::vector<BlockReport> blocks(block_count());
    summarise(0, blocks, execution, cancellation);
    resolve(blocks, cancellation);
    if (last == LastRecord::kLeftOut && !is_last_record_complete()) {
        leave_out_last_record(blocks, execution, cancellation);
    }
}

void RecordIndex::summarise(std::size_t first, std::span<BlockReport> out, const Execution& execution,
                            const Cancellation* cancellation) const {
    if (out.empty()) return;
    Execution with_kernel = execution;
    with_kernel.kernel = kernel_;
    const BlockedInput input{*blob_, size_, lead_, dialect_, with_kernel, cancellation};
    KernelSummariser by_kernel;
    BlockSummariser& summariser = execution.summariser != nullptr ? *execution.summariser : by_kernel;
    summariser.summarise(input, first, out);
    if (first == 0 && lead_.size > 0) ++out[0].summarised.summary.records[0];  // a record starts with the lead
}

// Carries the true state from block to block. After a walk, that state may differ from the state that the next block
// has deduced from the bytes before it, for example after a quote that is plain data.
void RecordIndex::resolve(const std::vector<BlockReport>& blocks, const Cancellation* cancellation) {
    std::vector<std::uint8_t> buffer;
    ComparingWalker walker(dialect_, *kernel_, lead_);
    entries_.clear();
    entries_.reserve(blocks.size());
    std::uint64_t records = 0;
    std::uint8_t inside = 0;
    std::optional<State> walked;  // the state here, if the previous block was walked
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const SummarisedBlock& block = blocks[i].summarised;
        Carry before = block.before;
        before.inside = inside;
        const State local = state_of(before, dialect_.escape_scope);
        const State state = walked.value_or(local);
        entries_.push_back({records, 0, static_cast<std::uint8_t>(state)});
        const bool suspect = block.summary.suspect[inside] != 0 && walker.heeds_suspects();
        const bool is_led = lead_.is_preamble && block_begin(i) < lead_.size;
        if (block.well_known && state == local && !suspect && !walker.apart() && !is_led) {
            records += block.summary.records[inside];
            inside ^= block.summary.flips;
            walked.reset();
            continue;
        }
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (!walker.apart()) walker.seek(i * block_size_, records, state);
        pass_by(walker, this->block(i, buffer), is_led ? Rescan{} : blocks[i].rescan);
        records = walker.records();
        walked = walker.state();
        inside = is_quoted(*walked) ? 1 : 0;
    }
    findings_ = Findings{size_, records, find_header(), 0, std::nullopt, walker.findings().divergence};
    if (size_ > 0) findings_.preamble_records = lead_.records();
    if (inside != 0) findings_.open_quote = find_open_quote();
}

// How many records the header takes up.
std::uint64_t RecordIndex::find_header() const {
    HeaderFinder header(dialect_, lead_);
    std::vector<std::uint8_t> buffer;
    for (std::size_t i = 0; i < block_count() && !header.is_found(); ++i) header.feed(block(i, buffer));
    return header.records();
}

// Whether nothing follows the last terminator outside quotes.
bool RecordIndex::is_last_record_complete() const {
    if (entries_.empty()) return true;
    const std::size_t last = entries_.size() - 1;
    Walker walker(dialect_, *kernel_, lead_);
    walker.seek(last * block_size_, entries_[last].records_before, static_cast<State>(entries_[last].state));
    std::vector<std::uint8_t> buffer;
    walker.pass(block(last, buffer));
    return is_past_record(walker.state());
}

// Turns this into the index of the bytes before the last record. The blocks before that record are not read again.
void RecordIndex::leave_out_last_record(std::vector<BlockReport>& blocks, const Execution& execution,
                                        const Cancellation* cancellation) {
    size_ = Locator(*this).start_of(findings_.records - 1).offset;
    blocks.resize(block_count());
    if (!blocks.empty()) {
        Execution quiet = execution;
        quiet.meter = nullptr;  // the meter has already counted these bytes
        summarise(blocks.size() - 1, std::span(blocks).last(1), quiet, cancellation);
    }
    resolve(blocks, cancellation);
}

std::size_t RecordIndex::block_count() const { return (size_ + block_size_ - 1) / block_size_; }

std::uint64_t RecordIndex::block_end(std::size_t number) const {
    return std::min<std::uint64_t>(number * block_size_ + block_size_, size_);
}

std::span<const std::uint8_t> RecordIndex::block(std::size_t number, std::vector<std::uint8_t>& buffer) const {
    const std::uint64_t offset = number * block_size_;
    return blob_->lend(offset, static_cast<std::size_t>(block_end(number) - offset), buffer);
}

// Walks the last record, which contains the open quote.
std::optional<Place> RecordIndex::find_open_quote() const {
    const auto after = std::ranges::lower_bound(entries_, findings_.records, {}, &Entry::records_before);
    auto number = static_cast<std::size_t>(after - entries_.begin()) - 1;
    Walker walker(dialect_, *kernel_, lead_);
    walker.seek(number * block_size_, entries_[number].records_before, static_cast<State>(entries_[number].state));
    std::vector<std::uint8_t> buffer;
    for (; number < entries_.size(); ++number) walker.pass(block(number, buffer));
    return walker.open_quote();
}

}  // namespace cleave
