// Loads shared libraries whose code runs in this process: only those that nobody else can have written.
#pragma once

#include <stdexcept>
#include <string>

namespace cleave {

// Somebody else could have written the library. `what()` says why: "others can write to '/tmp'".
class UntrustedLibrary : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Loads the library at `path`, which is absolute. It stays loaded until the process ends, and holds a descriptor. The
// library, every folder on the way from `/`, and every folder that a symbolic link on the way leads through must belong
// to the caller (the effective user), to root, or to the owner of the running program, and neither group nor others may
// write to it; a sticky folder such as /tmp is no exception. The library must be a regular file. Returns the handle for
// dlsym(). Throws UntrustedLibrary, std::system_error without a path if there is no such file, and std::runtime_error
// with the words of the loader. Any thread.
void* load_library(const std::string& path);

}  // namespace cleave
