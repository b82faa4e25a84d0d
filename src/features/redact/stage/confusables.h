// Characters beyond ASCII that look like ASCII letters, digits or punctuation: a small selection from Unicode Technical
// Standard 39, https://www.unicode.org/reports/tr39/.
#pragma once

#include <span>
#include <string_view>

namespace cleave {

struct Confusable {
    char32_t character;
    // What it looks like: one or two ASCII characters, never capitals.
    char twin[3];
};

// The whole table, in ascending order.
std::span<const Confusable> confusables() noexcept;

// What the character looks like; empty if it is not in the table. Takes O(log n) time.
std::string_view twin_of(char32_t character) noexcept;

}  // namespace cleave
