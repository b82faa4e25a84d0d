// Limits what the process may open and reach from here on, by Landlock. The kernel refuses everything else, even if
// hostile input exploits a bug. (https://docs.kernel.org/userspace-api/landlock.html)
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct Permissions {
    std::vector<std::string> read;  // files and directories, and everything below them
    // Directories, for making, reading and removing files and directories in them; pipes and devices, for writing.
    std::vector<std::string> write;
};

// This thread, and threads that it starts, lose every other right to open files, and the right to gain privileges by
// running a program. As far as the kernel's Landlock knows these, they can no longer bind or connect TCP sockets (Linux
// 6.7), connect to abstract Unix sockets, or send signals to other processes (both 6.12). Open files and sockets stay
// open. A path that does not exist permits nothing. Returns why some of this could not be had, for messages; empty if
// nothing has failed. The run can go on then.
std::string confine(const Permissions& permissions);

}  // namespace cleave::cli
