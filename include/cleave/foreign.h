// Recognises inputs that are not CSV in an ASCII-compatible encoding: archives, compressed data that Input does not
// decode, binary tables, UTF-16 and UTF-32, and what cleave itself writes beside pieces. Looks only at bytes, not at
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cleave/encoding.h"

namespace cleave {

struct ForeignFormat {
    std::string_view name;  // with its article: "an xz stream"
    // A shell command that prints the content as CSV; FILE in it stands for the file's name. Empty for one of cleave's
    // own files, such as an index, which contains no CSV.
    std::string_view command;
    bool reads_pipe = false;               // the command reads standard input if FILE is "-"
    Encoding encoding = Encoding::kBytes;  // with another one, Input::open() can read the input

    bool operator==(const ForeignFormat&) const = default;
};

// The format of an input that begins with `head`; no value if it may be CSV. `head` is decompressed; kSniffSize bytes
// are enough. A signature counts only if there is a control byte other than TAB, CR and LF in the first 4 KiB, because
// a CSV header may begin with "PAR1". cleave's own files are recognised by their first bytes alone. UTF-16 and UTF-32
// are recognised by their byte order mark or, in a head of at least 64 bytes, by their NULs. Never fails. Any thread
// may call it.
std::optional<ForeignFormat> foreign_format(std::span<const std::uint8_t> head);

// Throws InputError if foreign_format() finds a format. The message contains the format's name and, if there is one,
// its command. Called by scan(), examine(), cut_stream() and RecordIndex.
void refuse_foreign(std::span<const std::uint8_t> head);

}  // namespace cleave
