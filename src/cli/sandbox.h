// What the process may do from here on, by Landlock: the kernel refuses the rest, whatever a bug in the reading of
// hostile input might make of the process. (https://docs.kernel.org/userspace-api/landlock.html)
#pragma once

#include <string>
#include <vector>

namespace cleave::cli {

struct Permissions {
    std::vector<std::string> read;  // files and directories; what is below a directory counts
    // Directories, for making, reading and removing files and directories in them; pipes and devices, for writing.
    std::vector<std::string> write;
};

// Takes every other right to open files from this process and its threads, and the right to gain privileges by running
// a program. What is open already stays open. A path that does not exist permits nothing. Where the kernel has no
// Landlock, or is told not to use it, only the second is done: this protects from bugs, and no run fails for lack of
// it.
void confine(const Permissions& permissions);

}  // namespace cleave::cli
