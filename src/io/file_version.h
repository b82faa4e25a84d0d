// Whether an open file has changed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace cleave {

enum class FileChange : std::uint8_t {
    kNone,
    kShortened,
    kGrown,
    kWritten,  // or its time of the last write was set
    kTouched,  // only the time of the last status change is new, and neither name, links, owner nor mode explain it
    kUnknown,  // the system does not tell
};

// Tells whether the content of a file may have changed: by the size, the time of the last write, and the time of the
// last status change if nothing but a write explains that change.
class FileVersion {
public:
    // The file behind the descriptor as it is now. Throws std::system_error with `name`.
    FileVersion(int descriptor, const std::string& name);

    // Of the file at that time.
    const struct stat& status() const noexcept { return status_; }

    // How the file has changed since. The descriptor must still belong to the file.
    FileChange change(int descriptor) const noexcept;

private:
    bool is_explained(int descriptor, const struct stat& now) const noexcept;

    std::string path_;  // as the system knows it
    struct stat status_;
};

}  // namespace cleave
