// Excerpts: what stands around a place, for people to look at. Knows no CSV but what a line break is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/examine.h"

namespace cleave {

// The excerpt around window[at], or around the end of the window. On either side the window has kExcerptMargin bytes
// (from `at` on, after it), or ends where the input does.
constexpr std::size_t kExcerptMargin = Excerpt::kReach + 1;
Excerpt excerpt_of(std::span<const std::uint8_t> window, std::size_t at);

// Takes excerpts of a stream as it passes, while nobody knows yet whether they will be asked for. Memory: the bytes
// that are passed at a time.
class PassingExcerpts {
public:
    // An excerpt that may be replaced by one of a later place.
    class Slot {
    public:
        // Nothing unless it is the one of that place.
        std::optional<Excerpt> of(const std::optional<Place>& place) const;

    private:
        friend class PassingExcerpts;
        std::optional<std::uint64_t> offset_;
        Excerpt excerpt_;
    };

    // Turns to the next bytes of the stream; none at its end.
    void pass(std::span<const std::uint8_t> bytes);

    // Takes the excerpt of the place, if there is one and it was not taken before, as soon as enough of what follows it
    // has passed. To be called after every pass(), from the first one whose bytes contain the place or begin a few
    // bytes behind it.
    void take(Slot& slot, const std::optional<Place>& place) const;

private:
    std::vector<std::uint8_t> window_;  // the current bytes and those right before them
    std::uint64_t begin_ = 0;           // the offset of window_
    bool at_end_ = false;
};

}  // namespace cleave
