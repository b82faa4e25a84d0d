// Quotes words for a shell, for messages that tell the user what to type.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// `text` as one word for a shell: unquoted if possible, otherwise in single quotes, or as $'...' if it contains control
// characters, which a message cannot show. `text` must not contain NUL. Any thread may call it.
std::string shell_word(std::string_view text);

}  // namespace cleave
