// Words of a shell, for messages that say what to type.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// `text` as one word of a shell: bare where it may stand so, in single quotes otherwise, and as $'...' if it has
// control characters, which a message cannot show. Not for text with a NUL. Any thread.
std::string shell_word(std::string_view text);

}  // namespace cleave
