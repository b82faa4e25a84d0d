// The scan, written once for 64 bytes and compiled once for each instruction set. An ISA file includes this file,
// defines `Isa` (kernels/scalar.cpp shows what it must contain) and instantiates make_kernel<Isa>.
#pragma once

#include "core/kernels/block_fields.h"
#include "core/kernels/block_marks.h"
#include "core/kernels/block_summary.h"

namespace cleave {
namespace {

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
constexpr void add_variant(Kernel& kernel) {
    constexpr std::uint8_t kIndex = variant_of(kHasQuote, kAnyTerminator, kEscape);
    kernel.summarise[kIndex] = &summarise<Isa, kHasQuote, kAnyTerminator, kEscape>;
    kernel.summarise_lanes[kIndex] = &summarise_lanes<Isa, kHasQuote, kAnyTerminator, kEscape>;
    // Without quotes, there is one mode.
    constexpr Rules kFieldStart = kHasQuote ? Rules::kFieldStart : Rules::kBoth;
    constexpr Rules kAnywhere = kHasQuote ? Rules::kAnywhere : Rules::kBoth;
    kernel.mark[static_cast<std::size_t>(Rules::kFieldStart)][kIndex] =
        &mark<Isa, kFieldStart, kHasQuote, kAnyTerminator, kEscape>;
    kernel.mark[static_cast<std::size_t>(Rules::kAnywhere)][kIndex] =
        &mark<Isa, kAnywhere, kHasQuote, kAnyTerminator, kEscape>;
    kernel.mark[static_cast<std::size_t>(Rules::kBoth)][kIndex] =
        &mark<Isa, Rules::kBoth, kHasQuote, kAnyTerminator, kEscape>;
    kernel.mark_fields[kIndex] = &mark_fields<Isa, kHasQuote, kAnyTerminator, kEscape>;
    if constexpr (Isa::kCanPick && !kAnyTerminator) {
        kernel.pick_fields[kIndex] = &mark_fields<Picking<Isa>, kHasQuote, kAnyTerminator, kEscape>;
    }
}

template <class Isa, EscapeUse kEscape>
constexpr void add_variants(Kernel& kernel) {
    add_variant<Isa, false, false, kEscape>(kernel);
    add_variant<Isa, true, false, kEscape>(kernel);
    add_variant<Isa, false, true, kEscape>(kernel);
    add_variant<Isa, true, true, kEscape>(kernel);
}

template <class Isa>
constexpr Kernel make_kernel(const char* name) {
    Kernel kernel{};
    kernel.name = name;
    add_variants<Isa, EscapeUse::kNone>(kernel);
    add_variants<Isa, EscapeUse::kEverywhere>(kernel);
    add_variants<Isa, EscapeUse::kQuoted>(kernel);
    return kernel;
}

}  // namespace
}  // namespace cleave
