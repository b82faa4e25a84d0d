#include "features/check/excerpt.h"

#include <algorithm>
#include <cassert>

#include "base/text_bytes.h"
#include "base/utf8.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// A margin before the finding, a margin after it (which must have been read), and a few more bytes, because the finding
// may become known only later.
constexpr std::size_t kKeptSize = 2 * kExcerptMargin + 8;

constexpr std::size_t kLongestCharacter = 4;

// The size of the UTF-8 character that begins with this byte.
std::size_t character_size(std::uint8_t first) {
    constexpr std::uint8_t kOfTwo = 0xC0;
    constexpr std::uint8_t kOfThree = 0xE0;
    constexpr std::uint8_t kOfFour = 0xF0;
    if (first < kOfTwo) return 1;
    if (first < kOfThree) return 2;
    return first < kOfFour ? 3 : 4;
}

Bytes without_half_at_start(Bytes text) {
    for (std::size_t i = 1; i < kLongestCharacter && !text.empty() && is_utf8_continuation(text.front()); ++i) {
        text = text.subspan(1);
    }
    return text;
}

Bytes without_half_at_end(Bytes text) {
    for (std::size_t size = 1; size < kLongestCharacter && size <= text.size(); ++size) {
        const std::uint8_t byte = text[text.size() - size];
        if (!is_utf8_continuation(byte)) return character_size(byte) > size ? text.first(text.size() - size) : text;
    }
    return text;
}

}  // namespace

Excerpt excerpt_of(Bytes window, std::size_t at) {
    assert(at <= window.size());
    const Bytes all_before = window.first(at);
    const Bytes all_after = window.subspan(at);
    const auto line_start = std::ranges::find_if(all_before.rbegin(), all_before.rend(), is_line_break).base();
    const auto line_end = std::ranges::find_if(all_after, is_line_break);
    Bytes before(line_start, all_before.end());
    Bytes after(all_after.begin(), line_end);
    Excerpt excerpt;
    if (before.size() > Excerpt::kReach) {
        excerpt.is_cut_before = true;
        before = without_half_at_start(before.last(Excerpt::kReach));
    }
    if (after.size() > Excerpt::kReach) {
        excerpt.is_cut_after = true;
        after = without_half_at_end(after.first(Excerpt::kReach));
    }
    excerpt.text.assign(before.begin(), before.end());
    excerpt.caret = excerpt.text.size();
    excerpt.text.append(after.begin(), after.end());
    return excerpt;
}

std::optional<Excerpt> PassingExcerpts::Slot::of(const std::optional<Place>& place) const {
    return place && offset_ == place->offset ? std::optional(excerpt_) : std::nullopt;
}

void PassingExcerpts::pass(Bytes bytes) {
    const std::size_t gone = window_.size() - std::min(window_.size(), kKeptSize);
    window_.erase(window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(gone));
    begin_ += gone;
    window_.insert(window_.end(), bytes.begin(), bytes.end());
    at_end_ = bytes.empty();
}

void PassingExcerpts::take(Slot& slot, const std::optional<Place>& place) const {
    if (!place || slot.offset_ == place->offset || place->offset < begin_) return;
    const std::uint64_t at = place->offset - begin_;
    if (at > window_.size() || (window_.size() - at < kExcerptMargin && !at_end_)) return;
    slot.excerpt_ = excerpt_of(window_, at);
    slot.offset_ = place->offset;
}

}  // namespace cleave
