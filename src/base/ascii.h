// ASCII letters, whatever the locale.
#pragma once

namespace cleave {

inline char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace cleave
