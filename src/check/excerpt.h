// Excerpts: the text around a place, for people to read. Of CSV it knows only line breaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/examine.h"

namespace cleave {

// The excerpt around window[at], or around the end of the window. The window holds kExcerptMargin bytes before `at` and
// as many from `at` on, or fewer where the input begins or ends.
constexpr std::size_t kExcerptMargin = Excerpt::kReach + 1;
Excerpt excerpt_of(std::span<const std::uint8_t> window, std::size_t at);

// Takes excerpts of a stream while it is read, before it is known which will be needed. Memory: the bytes of the
// largest pass().
class PassingExcerpts {
public:
    // An excerpt, until one of a later place replaces it.
    class Slot {
    public:
        // The excerpt if it is the one of that place, else nothing.
        std::optional<Excerpt> of(const std::optional<Place>& place) const;

    private:
        friend class PassingExcerpts;
        std::optional<std::uint64_t> offset_;
        Excerpt excerpt_;
    };

    // Takes the next bytes of the stream; none at its end.
    void pass(std::span<const std::uint8_t> bytes);

    // Puts the excerpt of the place into the slot, once enough bytes after the place have passed. Does nothing without
    // a place, or if the slot has that excerpt. To be called after every pass(), at the latest from the one whose bytes
    // begin a few bytes after the place.
    void take(Slot& slot, const std::optional<Place>& place) const;

private:
    std::vector<std::uint8_t> window_;  // the current bytes and those right before them
    std::uint64_t begin_ = 0;           // the offset of window_
    bool at_end_ = false;
};

}  // namespace cleave
