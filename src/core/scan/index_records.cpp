// The index of an input, from a scan or from an index file, and the boundaries that go into such a file:
//
//   for each block in which a record starts: walk from its start state to the first record start, unless the thread
//       that summarised the block has already done so
//   for each other block: take the boundary of the block after it
#include <algorithm>

#include "cleave/error.h"
#include "cleave/scan.h"
#include "core/reader/stable_input.h"
#include "core/scan/block_summariser.h"
#include "core/scan/check_arguments.h"
#include "core/scan/walker.h"

namespace cleave {
namespace {

constexpr std::size_t kPartSize = std::size_t{64} << 10;

}  // namespace

// The entries are checked again here, because the bytes of the file may have changed since it was opened.
RecordIndex::RecordIndex(const RecordMap& map, std::shared_ptr<const Blob> blob, const ValidDialect& dialect,
                         const Execution& execution)
    : blob_(std::move(blob)),
      size_(blob_->size()),
      dialect_(dialect),
      kernel_(&checked_kernel(execution)),
      block_size_(static_cast<std::size_t>(map.step())),
      threads_(execution.thread_count()),
      cancellation_(nullptr),
      memory_(execution.memory),
      is_read_(true) {
    if (!map.is_for(dialect)) throw ArgumentError("execution: the index was made for a different dialect");
    findings_ = map.findings();
    if (findings_.size != size_) throw InputChangedError();
    std::vector<std::uint8_t> buffer;
    lead_ =
        lead_of(blob_->lend(0, static_cast<std::size_t>(std::min<std::uint64_t>(size_, kSniffSize)), buffer), dialect_);
    findings_.preamble_records = lead_.records();
    entries_.reserve(block_count());
    for (std::size_t i = 0; i < block_count(); ++i) {
        const Boundary boundary = map.entry(i);
        const std::uint64_t begin = block_begin(i);
        const std::uint64_t end = block_end(i);
        const bool is_behind = i > 0 && boundary.record < entries_.back().records_before;
        if (boundary.offset < begin || is_behind || boundary.record > findings_.records) throw InputChangedError();
        entries_.push_back({boundary.record, static_cast<std::uint32_t>(std::min(boundary.offset, end) - begin),
                            static_cast<std::uint8_t>(State::kRecordStart)});
    }
    map.throw_if_lost();
}

bool RecordIndex::has_same_records(const RecordIndex& other) const {
    if (findings_ != other.findings_ || block_size_ != other.block_size_) return false;
    return is_read_ == other.is_read_ ? entries_ == other.entries_ : first_boundaries() == other.first_boundaries();
}

std::vector<Boundary> RecordIndex::first_boundaries(const Cancellation* cancellation, const FirstStarts* known) const {
    std::vector<Boundary> boundaries(entries_.size());
    Walker walker(dialect_, *kernel_, lead_);
    std::vector<std::uint8_t> buffer;
    // The bytes of the block are borrowed in parts, because most walks are short.
    const auto walk = [&](std::size_t i) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        std::uint64_t offset = block_begin(i) + entries_[i].begin;
        walker.seek(offset, entries_[i].records_before, static_cast<State>(entries_[i].state));
        for (std::size_t size = kPartSize; offset < block_end(i); offset += size) {
            size = std::min<std::uint64_t>(block_end(i) - offset, kPartSize);
            const auto start = FirstStarts::first_start(walker, blob_->lend(offset, size, buffer));
            if (start) return offset + *start;
        }
        throw InputChangedError();
    };
    Boundary next = end();
    for (std::size_t i = entries_.size(); i-- > 0;) {
        const Entry& entry = entries_[i];
        if (entry.records_before != next.record) {  // a record starts in the block
            const auto start = known == nullptr ? std::nullopt : known->find(i, static_cast<State>(entry.state));
            next = {start ? block_begin(i) + *start : walk(i), entry.records_before};
        }
        boundaries[i] = next;
    }
    return boundaries;
}

RecordIndex index_records(Input& input, const Dialect& dialect, const Execution& execution) {
    return index_records(input, ValidDialect(dialect), execution);
}

RecordIndex index_records(Input& input, const ValidDialect& dialect, const Execution& execution) {
    const std::shared_ptr<const Blob> blob = RecordIndex::blob_of(input);
    if (execution.known != nullptr && !input.is_snapshot()) {
        RecordIndex index = *execution.known;
        if (index.blob_ != blob || index.dialect() != dialect) {
            throw ArgumentError("scan: the known records are those of another input or dialect");
        }
        index.cancellation_ = input.cancellation();
        rescan_if_touched(input, index, dialect, execution);
        return index;
    }
    if (execution.index != nullptr && !input.is_snapshot()) {
        RecordIndex index(*execution.index, blob, dialect, execution);
        index.cancellation_ = input.cancellation();
        rescan_if_touched(input, index, dialect, execution);
        return index;
    }
    const std::uint64_t size = blob->size();
    const LastRecord last = input.is_snapshot() ? LastRecord::kLeftOut : LastRecord::kKept;
    RecordIndex index(blob, dialect, execution, input.cancellation(), last, FirstBytes::kExamined);
    if (input.is_snapshot()) input.leave_out(size - index.findings().size);
    rescan_if_touched(input, index, dialect, execution);
    return index;
}

void rescan_if_touched(const Input& input, const RecordIndex& index, const Dialect& dialect,
                       const Execution& execution) {
    throw_unless_same(input, [&] {
        Execution same = execution;
        same.block_size = index.block_size();
        return RecordIndex(input.blob(), dialect, same, input.cancellation()).has_same_records(index);
    });
}

}  // namespace cleave
