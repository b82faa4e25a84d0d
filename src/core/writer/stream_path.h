// Paths that are written to and never replaced: those that lead, through any links, to an open descriptor of this
// process (/dev/stdout, /dev/fd/N), to a pipe, or to a character device such as a terminal.
#pragma once

#include <string>

#include "cleave/cancel.h"
#include "core/reader/fd.h"

namespace cleave {

bool leads_to_stream(const std::string& path);

// The folder in which a list of files at this path finds them: the path's own, or the current one ("") if it leads to a
// stream.
std::string folder_beside(const std::string& path);

// Opens what such a path leads to for writing. Waits until a FIFO has a reader. A descriptor of this process is
// duplicated, so writing continues at its current offset. Throws SystemError with `path`, Cancelled.
Fd open_stream(const std::string& path, const Cancellation* cancellation);

}  // namespace cleave
