// The encodings of text that can be read.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave {

enum class Encoding : std::uint8_t {
    kBytes,    // any encoding in which the bytes that have a meaning in CSV are ASCII, such as UTF-8 and Latin-1: the
               // bytes are read as they are
    kUtf16Le,  // little-endian; converted to UTF-8
    kUtf16Be,  // big-endian; converted to UTF-8
};

// "bytes", "utf-16le", "utf-16be".
std::string_view encoding_name(Encoding encoding);

}  // namespace cleave
