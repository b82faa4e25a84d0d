// Opens files whose names come from someone else, such as from a manifest, and only beneath a given folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/reader/fd.h"

namespace cleave {

// Returns the part of `path` below `folder`, without empty components and ".": "b/c" for "a" and "a/./b//c". Returns
// nothing if `path` does not begin with the components of `folder`, if nothing follows them, or if what follows
// contains "..". Only compares names; does not look at the file system. An empty `folder` is the current one.
std::optional<std::string> path_beneath(std::string_view folder, std::string_view path);

// Opens a folder in order to open files beneath it. The empty path is the current folder. Throws SystemError.
Fd open_folder(const std::string& path);

// Opens the regular file `name` beneath the folder for reading. No part of `name` may be a symbolic link. Throws
// SystemError with `shown`: ELOOP for a link, EXDEV for a name that leads, or could lead, out of the folder,
// EINVAL for anything but a regular file.
Fd open_beneath(const Fd& folder, const std::string& name, const std::string& shown);

// Like open_beneath(), but resolves the name one component at a time. open_beneath() falls back on this where the
// kernel has no openat2().
Fd open_part_by_part(const Fd& folder, const std::string& name, const std::string& shown);

}  // namespace cleave
