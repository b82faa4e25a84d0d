// The summary of a block under both hypotheses; see "Two hypotheses" in doc/internals/design.md. For the linkage, see
// kernels/step.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/step.h"

namespace cleave {
namespace {

// Builds a summary from the counts of one run of bytes. A terminator in the last byte starts a record in the next
// block; a terminator just before the first byte starts a record in this block.
inline BlockSummary summary_of(std::uint64_t ends, std::uint64_t ends_outside, std::uint64_t suspect_outside,
                               std::uint64_t suspect_inside, Carry before, Carry after) {
    const std::uint64_t last_inside = after.after_terminator & after.inside;
    const std::uint64_t last_outside = after.after_terminator & (after.inside ^ 1U);
    return BlockSummary{
        {static_cast<std::uint32_t>(before.after_terminator + ends_outside - last_outside),
         static_cast<std::uint32_t>(ends - ends_outside - last_inside)},
        {static_cast<std::uint8_t>(suspect_outside != 0), static_cast<std::uint8_t>(suspect_inside != 0)},
        after.inside};
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
BlockSummary summarise(const Markup& markup, const std::uint8_t* data, std::size_t size, Carry before) {
    before.inside = 0;
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape> scanner(passed_of(before));
    std::uint64_t ends = 0;
    std::uint64_t ends_outside = 0;
    std::uint64_t suspect_outside = 0;
    std::uint64_t suspect_inside = 0;
    const auto tally = [&](const Masks<Lane>& masks) {
        const std::uint64_t terminators = masks.terminators & ~masks.pair_ends;
        ends += Isa::popcount(terminators);
        ends_outside += Isa::popcount(terminators & ~masks.inside);
        suspect_outside |= masks.candidates & ~masks.before();
        suspect_inside |= masks.candidates & masks.before();
    };
    for (; size >= kStepSize; data += kStepSize, size -= kStepSize) {
        tally(scanner.template step<Rules::kBoth>(finder.in(data, kStepSize)));
    }
    if (size > 0) tally(scanner.template step<Rules::kBoth>(finder.in(data, size), size));
    return summary_of(ends, ends_outside, suspect_outside, suspect_inside, before, carry_of(scanner.passed()));
}

// Walks the lanes in parallel, so that memory is read as several streams at once, and does the logic for all lanes
// together. The masks go through memory, because storing an element of a vector is cheaper than inserting one.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
void summarise_lanes(const Markup& markup, const std::uint8_t* data, std::size_t lane_size, const Carry* before,
                     BlockSummary* out) {
    constexpr std::size_t kSteps = kLaneUnit / kStepSize;
    // How far ahead each lane prefetches. A prefetch beyond the end of the data does nothing. Of the distances from 512
    // bytes to 4 KiB, this was the best on Zen 3, by a small margin (2 GB in the page cache, 2026-11).
    constexpr std::size_t kPrefetchDistance = 1024;
    Carry outside[kLaneCount];
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        outside[lane] = before[lane];
        outside[lane].inside = 0;
    }
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lanes, kHasQuote, kAnyTerminator, kEscape> scanner(side_by_side(outside));
    std::uint64_t ends[kLaneCount] = {};
    std::uint64_t ends_outside[kLaneCount] = {};
    Lanes counted{};  // the same, for an ISA that counts all lanes at once
    Lanes counted_outside{};
    Lanes suspect_outside{};
    Lanes suspect_inside{};
    for (std::size_t offset = 0; offset < lane_size; offset += kLaneUnit) {
        Found<Lanes> found[kSteps];
        for (std::size_t step = 0; step < kSteps; ++step) {
            for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
                const std::uint8_t* here = data + lane * lane_size + offset + step * kStepSize;
                __builtin_prefetch(here + kPrefetchDistance);
                const typename Isa::Block block = Isa::load(here);
                finder.each(found[step], [&](Lanes& masks, typename Isa::Needle needle) {
                    Isa::store_equal(block, needle, reinterpret_cast<std::uint8_t*>(&masks) + lane * sizeof(Lane));
                });
            }
        }
        asm volatile("" : : : "memory");  // otherwise the compiler inserts elements
        Lanes terminators[kSteps];
        Lanes terminators_outside[kSteps];
        for (std::size_t step = 0; step < kSteps; ++step) {
            const Masks<Lanes> masks = scanner.template step<Rules::kBoth>(found[step]);
            terminators[step] = masks.terminators & ~masks.pair_ends;
            terminators_outside[step] = terminators[step] & ~masks.inside;
            suspect_outside |= masks.candidates & ~masks.before();
            suspect_inside |= masks.candidates & masks.before();
            if constexpr (Isa::kCountsLanes) {
                counted += Isa::popcounts(terminators[step]);
                counted_outside += Isa::popcounts(terminators_outside[step]);
            }
        }
        if constexpr (Isa::kCountsLanes) continue;
        asm volatile("" : : : "memory");  // otherwise the compiler extracts elements
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
            for (std::size_t step = 0; step < kSteps; ++step) {
                ends[lane] += Isa::popcount(terminators[step][lane]);
                ends_outside[lane] += Isa::popcount(terminators_outside[step][lane]);
            }
        }
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        out[lane] =
            summary_of(ends[lane] + counted[lane], ends_outside[lane] + counted_outside[lane], suspect_outside[lane],
                       suspect_inside[lane], outside[lane], carry_of(in_lane(scanner.passed(), lane)));
    }
}

}  // namespace
}  // namespace cleave
