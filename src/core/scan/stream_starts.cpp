#include "core/scan/stream_starts.h"

#include "base/bits.h"

namespace cleave {
namespace {

// The first bit that is set, from bit `from` on.
std::optional<std::size_t> first_from(std::span<const std::uint64_t> words, std::size_t from) {
    std::uint64_t mask = ~std::uint64_t{0} << (from % kWordBits);
    for (std::size_t i = from / kWordBits; i < words.size(); ++i, mask = ~std::uint64_t{0}) {
        if ((words[i] & mask) != 0) return i * kWordBits + first_bit(words[i] & mask);
    }
    return {};
}

std::uint64_t count_before(std::span<const std::uint64_t> words, std::size_t bit) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < bit / kWordBits; ++i) count += count_bits(words[i]);
    const std::uint64_t below = (std::uint64_t{1} << (bit % kWordBits)) - 1;
    return bit % kWordBits == 0 ? count : count + count_bits(words[bit / kWordBits] & below);
}

}  // namespace

void StreamStarts::pass(Walker& walker, const HeaderFinder& header, std::span<const std::uint8_t> bytes) {
    const std::uint64_t begin = walker.offset();
    const std::uint64_t before = walker.records();
    // As long as the header is not found, it may still turn out to be a later record.
    const bool wants_header = !header_size_ || header_records_ != header.records();
    if (wants_header) header_size_.reset();
    header_records_ = header.records();
    if (!wants_header && next() >= begin + bytes.size()) return walker.pass(bytes);
    const auto starts = walker.walk(bytes);
    for (auto bit = first_from(starts, 0); wants_header && !header_size_ && bit; bit = first_from(starts, *bit + 1)) {
        if (before + count_before(starts, *bit) == header_records_) header_size_ = begin + *bit;
    }
    while (next() < begin + bytes.size()) {
        const auto bit = first_from(starts, next() > begin ? static_cast<std::size_t>(next() - begin) : 0);
        if (!bit) break;
        add({begin + *bit, before + count_before(starts, *bit)}, UINT64_MAX);
    }
}

// The boundary is the one for all steps up to it that are below `end`.
void StreamStarts::add(const Boundary& boundary, std::uint64_t end) {
    while (next() <= boundary.offset && next() < end) boundaries_.push_back(boundary);
}

void StreamStarts::end(const Findings& findings) {
    add({findings.size, findings.records}, findings.size);
    if (findings.size == 0) boundaries_.clear();
    if (!header_size_) header_size_ = findings.header_records == 0 ? 0 : findings.size;
}

}  // namespace cleave
