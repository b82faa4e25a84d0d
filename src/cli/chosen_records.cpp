#include "cli/chosen_records.h"

#include <unistd.h>

#include <algorithm>

#include "base/random_seed.h"
#include "cleave/error.h"
#include "cleave/sample.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"

namespace cleave::cli {
namespace {

std::uint64_t draw_seed() {
    constexpr unsigned kUnused = 32;  // keeps the seed short enough to type
    return random_seed() >> kUnused;
}

// Ranges of this size or more are not copied to the buffer.
constexpr std::uint64_t kLargeSize = std::uint64_t{64} << 10;

}  // namespace

RunBounds find_run(const RecordIndex& index, const RecordRange& wanted, std::uint64_t header_records) {
    Locator locator(index);
    const std::uint64_t records = index.findings().records - header_records;
    const RunBounds run{locator.start_of(header_records + std::min(wanted.first - 1, records)),
                        locator.start_of(header_records + std::min(wanted.last, records))};
    if (run.end.offset < run.begin.offset) throw InputChangedError();
    return run;
}

void heed_range(Context& context, std::uint64_t records) {
    records -= context.header_records;
    RecordRange& range = *context.arguments.range;
    if (context.arguments.last) range.first = records - std::min(records, *context.arguments.last) + 1;
    if (range.first <= records || range.last == UINT64_MAX) return;
    Diagnostics(context).remark(records == 1 ? "there is only 1 record"
                                             : formatted("there are only {} records", records));
}

void draw(Context& context, const RecordIndex& index,
          FunctionRef<void(const Boundary& begin, const Boundary& end)> take) {
    const Arguments& arguments = context.arguments;
    const std::uint64_t header_records = context.header_records;
    const std::uint64_t seed = arguments.seed ? *arguments.seed : draw_seed();
    if (!arguments.seed) Diagnostics(context).remark(formatted("--seed {} draws the same records again", seed));
    Locator locator(index);
    Sample sample(index.findings().records - header_records, arguments.sample_size, seed);
    for (auto number = sample.next(); number; number = sample.next()) {
        const Boundary begin = locator.start_of(header_records + *number);
        const Boundary end = locator.start_of(begin.record + 1);
        if (end.offset <= begin.offset) throw InputChangedError();
        take(begin, end);
    }
}

void RangePrinter::print(BlobRange range) {
    if (waiting_.offset + waiting_.size == range.offset) {
        waiting_.size += range.size;
        return;
    }
    put();
    waiting_ = range;
}

void RangePrinter::put() {
    if (waiting_.size >= kLargeSize) {
        out_.flush();
        copy_range(input_.blob(), waiting_, STDOUT_FILENO, "write error", input_.cancellation());
    } else if (waiting_.size > 0) {
        out_.write(input_.blob().lend(waiting_.offset, static_cast<std::size_t>(waiting_.size), buffer_));
    }
    waiting_ = {0, 0};
}

void RangePrinter::flush() {
    put();
    out_.flush();
}

}  // namespace cleave::cli
