#include "core/scan/line_counter.h"

#include <algorithm>

namespace cleave {

std::uint64_t LineCounter::line_of(std::uint64_t offset) {
    if (offset < offset_) offset_ = ends_ = 0;
    while (offset_ < offset) {
        constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 20;
        const auto size = static_cast<std::size_t>(std::min(offset - offset_, kMostCounted));
        // Includes the byte that follows, if there is one.
        const auto has_next = static_cast<std::size_t>(offset_ + size < blob_.size());
        const auto bytes = blob_.lend(offset_, size + has_next, buffer_);
        ends_ += static_cast<std::uint64_t>(
            std::ranges::count(bytes.first(size), terminator_ == Terminator::kCr ? '\r' : '\n'));
        for (std::size_t i = 0; terminator_ == Terminator::kAny && i < size; ++i) {
            if (bytes[i] == '\r' && (i + 1 == bytes.size() || bytes[i + 1] != '\n')) ++ends_;
        }
        offset_ += size;
    }
    return ends_ + 1;
}

}  // namespace cleave
