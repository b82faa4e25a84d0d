// Tells whether an open file has changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace cleave {

enum class FileChange : std::uint8_t {
    kNone,
    kShortened,
    kGrown,
    kWritten,  // or its modification time was set
    kTouched,  // only ctime has changed, and no change of name, links, owner or mode explains that
    kUnknown,  // the system does not say
};

// Tells whether the content of a file may have changed. Compares its size, its modification time (mtime) and, if only a
// write can explain a change to it, its status change time (ctime).
class FileVersion {
public:
    // The file behind the descriptor as it is now. Throws SystemError with `name`.
    FileVersion(int descriptor, const std::string& name);

    // The status at construction.
    const struct stat& status() const noexcept { return status_; }

    // How the file has changed since. The descriptor must still refer to the file.
    FileChange change(int descriptor) const noexcept;

private:
    bool is_explained(int descriptor, const struct stat& now) const noexcept;

    std::string path_;  // as the system knows it
    struct stat status_;
};

}  // namespace cleave
