// Walks bytes in the dialect's quote mode, and finds where the other quote mode first starts different records:
//
//   while nothing is suspect, both modes read the bytes the same way: the kernel marks for both at once;
//   from a suspect step on, each mode has its own walker, until both are in the same state again;
//   once their record starts differ, the comparison is over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/input.h"
#include "core/scan/walker.h"

namespace cleave {

// Whether both modes find the same records from here up to the next suspect byte.
constexpr bool agree(State one, State other) {
    return is_quoted(one) == is_quoted(other) && is_escape(one) == is_escape(other) &&
           is_past_record(one) == is_past_record(other);
}

// The same dialect, but in the other quote mode.
Dialect by_other_rule(Dialect dialect);

// Use from one thread at a time.
class ComparingWalker final : public Walker {
public:
    // Like the constructor of Walker. The records are read in the dialect's own mode.
    ComparingWalker(const Dialect& dialect, const Kernel& kernel, const Lead& lead = {});

    // Whether the modes are in different states but have not yet cut differently. seek() must not be called in
    // that case.
    bool apart() const { return apart_; }
    // Where the modes came apart. Up to date whenever walk() or pass() returns.
    const std::optional<Place>& parted() const { return parted_; }
    // Whether the modes are still compared, because they have not cut differently so far.
    bool compares() const { return !divergence_; }
    // Whether suspect bytes matter, because a summary may be wrong there or because the two modes may come apart.
    bool heeds_suspects() const;

    // Moves to an offset where the modes agree, and forgets that they have ever cut differently.
    void compare_from(std::uint64_t offset, std::uint64_t records, State state);

    // The same, but from an offset where the modes may be apart. If they do not agree, `parted` is where they came
    // apart.
    void compare_from(std::uint64_t offset, State own, State other, std::uint64_t parted);
    // Stops comparing: from here on, walks in the dialect's own mode alone.
    void stop_comparing() { divergence_ = Place{}; }
    // The state in the other mode. Valid for as long as the modes are compared.
    State other_state() const { return apart_ ? other_.state() : state(); }
    const std::optional<Place>& divergence() const { return divergence_; }

    // The findings, as if the bytes so far were the whole input, without header_records. The place of an open quote is
    // correct only if the walk has passed that quote.
    Findings findings() const;

private:
    std::size_t advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts) override;
    void find_parting();

    Walker other_;  // reads in the other mode; moves only while the modes are apart
    bool apart_ = false;
    std::size_t stretch_size_;  // while the modes are apart, they are compared after this many bytes
    std::optional<Place> parted_;
    std::optional<Place> divergence_;
    // The bytes of this call that were walked since the modes last agreed, and the positions of both walkers before
    // these bytes.
    std::span<const std::uint8_t> trail_;
    Position before_{};
    Position other_before_{};
};

// A walker at the start of an input that will be read in order. Throws InputError like refuse_foreign(), whatever
// Input::peek() throws, and ArgumentError for an invalid dialect or execution.
ComparingWalker walker_of(Input& input, const Dialect& dialect, const Execution& execution);

}  // namespace cleave
