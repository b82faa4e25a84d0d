// The encodings of text that can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave {

// Values that are not listed are sets of single bytes, such as windows-1252: encoding_named() knows them.
// NOLINTNEXTLINE(readability-enum-initial-value): the last value is behind those
enum class Encoding : std::uint8_t {
    kBytes,    // any encoding in which the bytes that have a meaning in CSV are ASCII, such as UTF-8 and Latin-1: the
               // bytes are read as they are
    kUtf16Le,  // little-endian; converted to UTF-8, and its byte order mark, too
    kUtf16Be,  // big-endian; likewise
    kUtf16,    // its byte order mark, which is left out, says which of these
    kUtf8,     // must be valid
    kUtf8Sig,  // the same, but a byte order mark is left out
    kFirstCharset,
    kAuto = UINT8_MAX,  // the first kEncodingSample bytes say which, or it is an InputError
};

constexpr std::size_t kEncodingSample = std::size_t{1} << 20;

// "bytes", "auto", "utf-16le", or the name that Python has for its codec. The view lives as long as the program.
std::string_view encoding_name(Encoding encoding);
// The names of all but kBytes.
std::vector<std::string_view> encoding_names();

// The encoding with this name or alias, as Python compares them: case does not matter, and "-" is "_". Throws
// ArgumentError for any other; if iconv can convert it, the message says how.
Encoding encoding_named(std::string_view name);

}  // namespace cleave
