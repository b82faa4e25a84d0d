// Loads shared libraries into this process, but only those that no other user could have written.
#pragma once

#include <stdexcept>
#include <string>

#include "cleave/error.h"

namespace cleave {

// The loader could not load the library. `what()` is its message.
class LibraryError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// Another user could have written the library. `what()` says why, such as "other users can write to '/srv'".
class UntrustedLibrary : public LibraryError {
public:
    using LibraryError::LibraryError;
};

// Loads the library at `path`, which must be absolute, and returns its handle for dlsym(). The library must be a
// regular file. It stays loaded until the process ends, and holds a descriptor. The library, every folder on the way
// from `/`, and every folder that a symbolic link on the way leads through must belong to the caller (the effective
// user), to root, or to the owner of the running program, and neither the group nor other users may have write access
// to it. One sticky folder of root, such as /tmp, may be on the way although others can write to it. What follows it
// must then be a folder on the same file system, not a link; it and everything below it must belong to the caller or to
// root. Throws UntrustedLibrary, SystemError without a path if the file does not exist, and LibraryError. Any thread
// may call it.
void* load_library(const std::string& path);

}  // namespace cleave
