// Limits what the process may open and reach from this point on, using Landlock. The kernel refuses everything else,
// even if hostile input exploits a bug. (https://docs.kernel.org/userspace-api/landlock.html)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave::cli {

struct Permissions {
    std::vector<std::string> read;  // files and directories, and everything below them
    // Directories in which files and directories may be created, read and removed; also writable pipes and devices.
    std::vector<std::string> write;
    std::vector<std::uint16_t> ports{};  // of TCP, which may be connected to
};

// This thread, and threads that it starts from now on, lose every other right to open files, and the ability to gain
// privileges by running a program. If the kernel's Landlock supports it, they can no longer bind or connect TCP sockets
// (Linux 6.7), connect to abstract Unix sockets, or send signals to other processes (both 6.12). Open files and sockets
// stay open. A path that does not exist permits nothing. Returns an empty string or, for use in a message, the reason
// why some of this failed; the run can continue in either case.
std::string confine(const Permissions& permissions);

}  // namespace cleave::cli
