#include "core/scan/walker.h"

#include <algorithm>
#include <array>

namespace cleave {

std::span<const std::uint64_t> Walker::walk(std::span<const std::uint8_t> bytes) {
    starts_.resize((bytes.size() + kStepSize - 1) / kStepSize);
    for (std::uint64_t* starts = starts_.data(); !bytes.empty();) {
        const std::size_t done = advance(bytes, starts);
        starts += (done + kStepSize - 1) / kStepSize;
        bytes = bytes.subspan(done);
    }
    return starts_;
}

void Walker::pass(std::span<const std::uint8_t> bytes) {
    std::array<std::uint64_t, kSliceSize / kStepSize> starts;
    while (!bytes.empty()) bytes = bytes.subspan(advance(bytes, starts.data()));
}

std::size_t Walker::advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts) {
    const std::size_t size = std::min(bytes.size(), kSliceSize);
    read(bytes.first(size), starts);
    return size;
}

std::optional<Place> Walker::open_quote() const {
    if (!is_quoted(state())) return std::nullopt;
    return Place{position_.open_end - 1, records() - 1};
}

}  // namespace cleave
