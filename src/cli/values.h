// Parsers of option values as people write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cleave/encoding.h"
#include "cli/options.h"

namespace cleave::cli {

// Everything here throws UsageError. `option` is the option as the user typed it, such as "-l".

// Decimal digits only, at least `least`.
std::uint64_t parse_count(const std::string& option, const std::string& text, std::uint64_t least);

// A size in bytes, at least 1: a number and a suffix in upper or lower case. K M G T P E and KiB... are powers of 1024;
// KB MB... are powers of 1000. Before a suffix the number may have a decimal point; the product is exact and rounded
// down.
std::uint64_t parse_size(const std::string& option, const std::string& text);

// A number of pieces, at least 1.
std::uint64_t parse_pieces(const std::string& option, const std::string& text);

// "3/8": piece 3 of 8.
struct Share {
    std::uint64_t number, count;
};
Share parse_share(const std::string& option, const std::string& text);

// "NAME=WEIGHT,NAME=WEIGHT...": at most ByValue::kMostParts parts. A name is what a file may be called. A weight is a
// decimal number above 0; the weights of the result are in the same proportion.
std::vector<Part> parse_parts(const std::string& option, const std::string& text);

// "A-B", "A-", "-B" or "A": records from 1, both ends included.
RecordRange parse_range(const std::string& option, const std::string& text);

// "A-B", "A-" or "-B": bytes from 0, excluding B.
ByteRange parse_byte_range(const std::string& option, const std::string& text);

// One byte, written as itself, \t, \0, \\, \xHH, or "tab".
std::uint8_t parse_byte(const std::string& option, const std::string& text);

// A name that encoding_named() knows.
Encoding parse_encoding(const std::string& text);

template <class T>
struct Choice {
    const char* name;
    T value;
};

// The names separated by blanks, as in OptionRow::choices.
template <class T, std::size_t kCount>
std::string choice_names(const Choice<T> (&choices)[kCount]) {
    std::string names = choices[0].name;
    for (const Choice<T>& choice : std::span(choices).subspan(1)) names += std::string(" ") + choice.name;
    return names;
}

// Splits such a string into names.
std::vector<std::string> separate(const std::string& names);

// The same names with commas: "never, auto, always".
std::string with_commas(const std::string& names);

// Throws UsageError: `text` is not one of `names`, which are separated by blanks.
[[noreturn]] void refuse_choice(const std::string& option, const std::string& text, const std::string& names);

template <class T, std::size_t kCount>
T parse_choice(const std::string& option, const std::string& text, const Choice<T> (&choices)[kCount]) {
    for (const Choice<T>& choice : choices) {
        if (text == choice.name) return choice.value;
    }
    refuse_choice(option, text, choice_names(choices));
}

}  // namespace cleave::cli
