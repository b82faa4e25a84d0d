#include "cli/range_printer.h"

#include <unistd.h>

namespace cleave::cli {
namespace {

// Ranges of this size or more are not copied to the buffer.
constexpr std::uint64_t kLargeSize = std::uint64_t{64} << 10;

}  // namespace

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
