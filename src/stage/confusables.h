// Characters beyond ASCII that look like ASCII letters, digits or punctuation. A small choice of those of Unicode
// Technical Standard 39, https://www.unicode.org/reports/tr39/.
#pragma once

#include <span>
#include <string_view>

namespace cleave {

struct Confusable {
    char32_t character;
    // What it looks like: one or two characters of ASCII, no capitals.
    char twin[3];
};

// All of them, ascending.
std::span<const Confusable> confusables() noexcept;

// What the character looks like; empty if it is not in the table. In O(log n) time.
std::string_view twin_of(char32_t character) noexcept;

}  // namespace cleave
