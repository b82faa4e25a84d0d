// Excerpts: the text around a place, for people to read. Of CSV, this knows only line breaks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/examine.h"

namespace cleave {

// The excerpt around window[at], or around the end of the window. The window must hold kExcerptMargin bytes before
// `at` and as many from `at` on, or fewer where the input begins or ends.
constexpr std::size_t kExcerptMargin = Excerpt::kReach + 1;
Excerpt excerpt_of(std::span<const std::uint8_t> window, std::size_t at);

// Takes excerpts from a stream while it is being read, before it is known which of them will be needed. Uses as much
// memory as the largest pass().
class PassingExcerpts {
public:
    // Holds an excerpt until it is replaced by the excerpt of a different place.
    class Slot {
    public:
        // Returns the excerpt if it belongs to `place`, otherwise nothing.
        std::optional<Excerpt> of(const std::optional<Place>& place) const;

    private:
        friend class PassingExcerpts;
        std::optional<std::uint64_t> offset_;
        Excerpt excerpt_;
    };

    // Takes the next bytes of the stream, or no bytes at its end.
    void pass(std::span<const std::uint8_t> bytes);

    // Puts the excerpt of the place into the slot, once enough bytes after the place have passed. Does nothing if there
    // is no place or if the slot already holds that excerpt. Call it after every pass(), starting no later than the
    // pass() whose bytes begin a few bytes after the place.
    void take(Slot& slot, const std::optional<Place>& place) const;

private:
    std::vector<std::uint8_t> window_;  // the current bytes and some bytes right before them
    std::uint64_t begin_ = 0;           // the offset of window_ in the stream
    bool at_end_ = false;
};

}  // namespace cleave
