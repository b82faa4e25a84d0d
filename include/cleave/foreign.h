// Inputs that are not CSV in an encoding of one byte a character: archives, compressed data that Input does not decode,
// binary tables, UTF-16 and UTF-32, and what cleave itself writes beside pieces. Knows bytes only, no files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

struct ForeignFormat {
    std::string_view name;  // with its article: "an xz stream"
    // A shell command that prints the content as CSV; FILE in it stands for the file's name. Empty for a file of
    // cleave, such as an index: it holds no CSV.
    std::string_view command;
    bool reads_pipe = false;  // the command reads standard input if FILE is "-"

    bool operator==(const ForeignFormat&) const = default;
};

// The format of an input with this head, or nothing if it may be CSV. `head` holds the first bytes of the input,
// decompressed; kSniffSize of them are enough. A signature counts only if there is a control byte other than TAB, CR
// and LF in the first 4 KiB: a CSV header may begin with "PAR1". The files of cleave are known by their beginning
// alone. UTF-16 and UTF-32 are known by their byte order mark or, in a head of at least 64 bytes, by their NULs. Never
// fails. Any thread.
std::optional<ForeignFormat> foreign_format(std::span<const std::uint8_t> head);

// Throws InputError, with the format's name and its command, if it has one, if foreign_format() finds one. Called by
// scan(), examine(), cut_stream() and RecordIndex.
void refuse_foreign(std::span<const std::uint8_t> head);

}  // namespace cleave
