// Texts compressed with gzip.
#pragma once

#include <string>

namespace cleave::test {

// One gzip member.
std::string gzipped(const std::string& text);

}  // namespace cleave::test
