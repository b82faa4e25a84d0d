#include "core/scan/block_summariser.h"

#include <utility>
#include <vector>

#include "base/parallel.h"
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

}  // namespace cleave
