#include "core/scan/block_summariser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bits.h"
#include "base/parallel.h"
#include "core/kernels/kernel.h"
#include "core/reader/read_ahead.h"
#include "core/scan/carry.h"

namespace cleave {
namespace {

// Creates the reports of blocks, on one thread.
class Reporter {
public:
    explicit Reporter(const BlockedInput& input) : input_(input), rescanner_(input.dialect, *input.execution.kernel) {}

    // Returns the report of the block and the bytes of the block. The bytes are valid until the next call.
    std::pair<BlockReport, std::span<const std::uint8_t>> report(std::size_t number) {
        const std::uint64_t block = input_.begin_of(number);
        // The bytes before the block determine the carry at its start.
        const std::uint64_t from = block - std::min(block, kLookBack);
        const auto bytes = input_.blob.lend(from, input_.end_of(number) - from, buffer_);
        const bool is_marked = from == 0 && !input_.lead.is_preamble;
        const std::uint64_t bom = is_marked ? std::min<std::uint64_t>(input_.lead.size, bytes.size()) : 0;
        const std::uint64_t begin = std::max(block - from, bom);
        BlockReport report;
        report.summarised = summarise_block(bytes, bom, begin, bytes.size(), input_.dialect, *input_.execution.kernel);
        if (begin == block - from) report.rescan = rescanner_.rescan(bytes.subspan(begin), report.summarised);
        return {report, bytes.subspan(block - from)};
    }

private:
    const BlockedInput& input_;
    Rescanner rescanner_;
    std::vector<std::uint8_t> buffer_;
};

// Most records are shorter than the first slice of a walk.
constexpr std::size_t kFirstSliceSize = 512;
constexpr std::size_t kSliceGrowth = 8;

}  // namespace

void KernelSummariser::summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) {
    const std::uint64_t begin = input.begin_of(first);
    ReadAhead ahead(input.blob, begin, input.end_of(first + out.size() - 1));
    parallel_for(out.size(), ahead.readers(input.execution.thread_count()),
                 [&, reporter = Reporter(input)](std::size_t i) mutable {
                     if (input.cancellation != nullptr) input.cancellation->throw_if_requested();
                     const std::uint64_t end = input.end_of(first + i);
                     ahead.wait_for(end - begin);
                     const auto [report, bytes] = reporter.report(first + i);
                     out[i] = report;
                     reported(input, first + i, bytes, out[i]);
                     input.blob.throw_if_lost();  // otherwise the remaining bytes would be zeros
                     if (input.execution.meter != nullptr)
                         input.execution.meter->scanned += end - input.begin_of(first + i);
                 });
}

std::optional<std::size_t> FirstStarts::first_start(Walker& walker, std::span<const std::uint8_t> bytes) {
    std::size_t done = 0;
    for (std::size_t slice_size = kFirstSliceSize; done < bytes.size(); slice_size *= kSliceGrowth) {
        const std::size_t size = std::min(bytes.size() - done, slice_size);
        const auto starts = walker.walk(bytes.subspan(done, size));
        const auto word = std::ranges::find_if(starts, [](std::uint64_t bits) { return bits != 0; });
        if (word != starts.end()) {
            return done + static_cast<std::size_t>(word - starts.begin()) * kStepSize + first_bit(*word);
        }
        done += size;
    }
    return std::nullopt;
}

void FirstStarts::summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) {
    if (blocks_.size() < first + out.size()) blocks_.resize(first + out.size());
    {
        const MutexLock lock(mutex_);
        idle_.clear();  // these may belong to a different input
    }
    KernelSummariser::summarise(input, first, out);
}

// Ignores the block at the start of the input and blocks that begin within the lead.
void FirstStarts::reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                           const BlockReport& report) {
    Block& block = blocks_[number];
    block = Block{};
    if (input.begin_of(number) <= input.lead.size) return;
    std::unique_ptr<Walker> walker = take_walker(input);
    for (std::size_t inside = 0; inside < 2; ++inside) {
        Carry before = report.summarised.before;
        before.inside = static_cast<std::uint8_t>(inside);
        block.states[inside] = state_of(before, input.dialect.escape_scope);
        walker->seek(input.begin_of(number), 0, block.states[inside]);
        if (const auto start = first_start(*walker, bytes)) block.starts[inside] = static_cast<std::uint32_t>(*start);
    }
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(walker));
}

std::unique_ptr<Walker> FirstStarts::take_walker(const BlockedInput& input) {
    {
        const MutexLock lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Walker> walker = std::move(idle_.back());
            idle_.pop_back();
            return walker;
        }
    }
    return std::make_unique<Walker>(input.dialect, *input.execution.kernel, input.lead);
}

std::optional<std::uint32_t> FirstStarts::find(std::size_t number, State state) const noexcept {
    const std::size_t inside = is_quoted(state) ? 1 : 0;
    if (number >= blocks_.size()) return std::nullopt;
    const Block& block = blocks_[number];
    if (block.states[inside] != state || block.starts[inside] == kUnknown) return std::nullopt;
    return block.starts[inside];
}

}  // namespace cleave
