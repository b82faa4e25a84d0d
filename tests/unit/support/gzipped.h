// Compressed texts.
#pragma once

#include <string>

namespace cleave::test {

// One member of gzip.
std::string gzipped(const std::string& text);

}  // namespace cleave::test
