// Limits what the process may open from here on, by Landlock. The kernel refuses everything else, even if hostile input
// exploits a bug. (https://docs.kernel.org/userspace-api/landlock.html)
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct Permissions {
    std::vector<std::string> read;  // files and directories, and everything below them
    // Directories, for making, reading and removing files and directories in them; pipes and devices, for writing.
    std::vector<std::string> write;
};

// This process and its threads lose every other right to open files, and the right to gain privileges by running a
// program. Open files stay open. A path that does not exist permits nothing. Without Landlock in the kernel, only the
// right to gain privileges is lost, and the run goes on.
void confine(const Permissions& permissions);

}  // namespace cleave::cli
