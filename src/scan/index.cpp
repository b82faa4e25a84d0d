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

RecordIndex::RecordIndex(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Machine& machine,
                         const Cancellation* cancellation)
    : bytes_(bytes),
      bom_(bom_size(bytes)),
      dialect_(checked(dialect)),
      kernel_(&checked_kernel(machine)),
      block_size_(machine.block_size) {
    refuse_foreign(bytes);
    const std::size_t count = (bytes.size() + block_size_ - 1) / block_size_;

    struct Block {
        SummarisedBlock summarised;
        Rescan rescan;
    };
    std::vector<Block> blocks(count);
    ReadAhead ahead(bytes);
    parallel_for(count, machine.threads, [&, rescanner = Rescanner(dialect_, *kernel_)](std::size_t i) mutable {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::uint64_t end = std::min<std::uint64_t>((i + 1) * block_size_, bytes.size());
        ahead.wait_for(end);
        const std::uint64_t begin = std::min(std::max<std::uint64_t>(i * block_size_, bom_), end);
        SummarisedBlock& summarised = blocks[i].summarised;
        summarised = summarise_block(bytes, bom_, begin, end, dialect_, *kernel_);
        if (begin == i * block_size_) blocks[i].rescan = rescanner.rescan(this->block(i), summarised);
        if (i == 0 && bom_ > 0) ++summarised.summary.records[0];  // starts at the byte order mark
        if (has_faulted(bytes)) throw InputChangedError();        // the rest would be zeros
        report(machine, end - i * block_size_);
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
    HeaderFinder header(dialect, bom_);
    header.feed(bytes);
    findings_ = Findings{bytes.size(), records, header.records(), std::nullopt, walker.findings().divergence};
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

}  // namespace cleave
