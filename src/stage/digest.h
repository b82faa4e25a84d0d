// SHA-256 (FIPS 180-4) of a text that is not secret, such as rules.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// 64 hex digits, lower case.
std::string sha256_hex(std::string_view text);

}  // namespace cleave
