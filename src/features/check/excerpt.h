// Excerpts: the text around a position in the input, for people to read. Line breaks are all that this knows about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/examine.h"

namespace cleave {

// The excerpt around window[at], or around the end of the window if `at` is its size. The window must hold
// kExcerptMargin bytes before `at` and as many from `at` on, or fewer where the input begins or ends.
constexpr std::size_t kExcerptMargin = Excerpt::kReach + 1;
Excerpt excerpt_of(std::span<const std::uint8_t> window, std::size_t at);

// Takes excerpts from a stream while it is being read, before it is known which of them will be needed. Takes up as
// much memory as the bytes of the largest pass().
class PassingExcerpts {
public:
    // Holds an excerpt until an excerpt around a different position replaces it.
    class Slot {
    public:
        // Returns the excerpt if it is the one around `place`, otherwise nothing.
        std::optional<Excerpt> of(const std::optional<Place>& place) const;

    private:
        friend class PassingExcerpts;
        std::optional<std::uint64_t> offset_;
        Excerpt excerpt_;
    };

    // Takes the next bytes of the stream, or no bytes at its end.
    void pass(std::span<const std::uint8_t> bytes);

    // Puts the excerpt around `place` into the slot once enough of the bytes after it have passed. Does nothing if
    // `place` is empty or the slot already holds that excerpt. Call this after every pass(), starting at the latest
    // with the pass() whose bytes begin a few bytes after `place`.
    void take(Slot& slot, const std::optional<Place>& place) const;

private:
    std::vector<std::uint8_t> window_;  // the current bytes and some bytes right before them
    std::uint64_t begin_ = 0;           // the offset of window_ in the stream
    bool at_end_ = false;
};

}  // namespace cleave
