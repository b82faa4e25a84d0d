// The index of an input, by a scan or from an index file, and the boundaries that go into such a file:
//
//   for each block in which a record starts: walk from its start state to the first record start
//   for each other block: take the boundary of the block after it
//
// The walk reads some records of each MiB.
#include <algorithm>

#include "base/bits.h"
#include "cleave/error.h"
#include "cleave/index_file.h"
#include "cleave/scan.h"
#include "dialect/contract.h"
#include "kernels/kernel.h"
#include "scan/contract.h"
#include "scan/walker.h"

namespace cleave {
namespace {

// Most records are shorter than the first slice of a walk.
constexpr std::size_t kFirstSliceSize = 512;
constexpr std::size_t kSliceGrowth = 8;

}  // namespace

// The entries are judged here too: the bytes of the file may have changed since it was opened.
RecordIndex::RecordIndex(const IndexFile& file, const Blob& blob, const Dialect& dialect, const Execution& execution)
    : blob_(std::shared_ptr<const void>(), &blob),
      size_(blob.size()),
      bom_(0),
      dialect_(checked(dialect)),
      kernel_(&checked_kernel(execution)),
      block_size_(static_cast<std::size_t>(file.view().head().step)),
      is_read_(true) {
    const IndexView& view = file.view();
    const IndexHead& head = view.head();
    if (head.size != size_ || head.dialect_digest != dialect_digest(dialect)) throw InputChangedError();
    std::vector<std::uint8_t> buffer;
    bom_ = bom_size(blob.lend(0, static_cast<std::size_t>(std::min<std::uint64_t>(size_, kSniffSize)), buffer));
    findings_ = {head.size, head.records, head.header_records, std::nullopt, head.divergence};
    entries_.reserve(block_count());
    for (std::size_t i = 0; i < block_count(); ++i) {
        const Boundary boundary = view.entry(i);
        const std::uint64_t begin = block_begin(i);
        const std::uint64_t end = block_end(i);
        const bool is_behind = i > 0 && boundary.record < entries_.back().records_before;
        if (boundary.offset < begin || is_behind || boundary.record > head.records) throw InputChangedError();
        entries_.push_back({boundary.record, static_cast<std::uint32_t>(std::min(boundary.offset, end) - begin),
                            static_cast<std::uint8_t>(State::kRecordStart)});
    }
    file.throw_if_lost();
}

bool RecordIndex::has_same_records(const RecordIndex& other) const {
    if (findings_ != other.findings_ || block_size_ != other.block_size_) return false;
    return is_read_ == other.is_read_ ? entries_ == other.entries_ : first_boundaries() == other.first_boundaries();
}

std::vector<Boundary> RecordIndex::first_boundaries(const Cancellation* cancellation) const {
    std::vector<Boundary> boundaries(entries_.size());
    Walker walker(dialect_, *kernel_, bom_);
    std::vector<std::uint8_t> buffer;
    Boundary next = end();
    for (std::size_t i = entries_.size(); i-- > 0;) {
        const Entry& entry = entries_[i];
        if (entry.records_before == next.record) {  // no record starts in the block
            boundaries[i] = next;
            continue;
        }
        if (cancellation != nullptr) cancellation->throw_if_requested();
        walker.seek(block_begin(i) + entry.begin, entry.records_before, static_cast<State>(entry.state));
        std::size_t slice_size = kFirstSliceSize;
        for (;;) {
            const std::uint64_t offset = walker.offset();
            const std::size_t size = std::min<std::uint64_t>(block_end(i) - offset, slice_size);
            if (size == 0) throw InputChangedError();
            const auto starts = walker.walk(blob_->lend(offset, size, buffer));
            const auto word = std::ranges::find_if(starts, [](std::uint64_t bits) { return bits != 0; });
            if (word != starts.end()) {
                const auto words_before = static_cast<std::uint64_t>(word - starts.begin());
                next = {offset + words_before * kStepSize + first_bit(*word), entry.records_before};
                break;
            }
            slice_size *= kSliceGrowth;
        }
        boundaries[i] = next;
    }
    return boundaries;
}

RecordIndex index_records(Input& input, const Dialect& dialect, const Execution& execution) {
    const Blob& blob = input.blob();
    if (execution.index != nullptr && !input.is_snapshot()) {
        RecordIndex index(*execution.index, blob, dialect, execution);
        rescan_if_touched(input, index, dialect, execution);
        return index;
    }
    const std::uint64_t size = blob.size();
    const LastRecord last = input.is_snapshot() ? LastRecord::kLeftOut : LastRecord::kKept;
    RecordIndex index(blob, dialect, execution, input.cancellation(), last);
    if (input.is_snapshot()) input.leave_out(size - index.findings().size);
    rescan_if_touched(input, index, dialect, execution);
    return index;
}

void rescan_if_touched(const Input& input, const RecordIndex& index, const Dialect& dialect,
                       const Execution& execution) {
    if (input.accept_touch()) {
        Execution same = execution;
        same.block_size = index.block_size();
        const RecordIndex again(input.blob(), dialect, same, input.cancellation());
        if (!again.has_same_records(index)) throw InputChangedError();
    }
    input.throw_if_changed();
}

}  // namespace cleave
