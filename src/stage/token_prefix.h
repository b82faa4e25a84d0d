// What may precede a token, so that its readers know how it was made.
#pragma once

#include <string_view>

namespace cleave {

// Tokens of version 2, of hmac and encrypt.
inline constexpr std::string_view kTokenPrefix = "v2.";

}  // namespace cleave
