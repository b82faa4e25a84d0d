// Whether an open file is still what it was.
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
    kTouched,  // only the time of the last status change is another, and neither name, links, owner nor mode say why
    kUnknown,  // the system does not tell
};

// What tells one content of a file from another, as far as the system does: size, time of the last write, and time of
// the last change of any kind where nothing but a write accounts for that.
class FileVersion {
public:
    // What is behind the descriptor now. Throws std::system_error with `name`.
    FileVersion(int descriptor, const std::string& name);

    // Of the file as it was then.
    const struct stat& status() const noexcept { return status_; }

    // What has become of the file since, which is behind the descriptor still.
    FileChange change(int descriptor) const noexcept;

private:
    bool is_explained(int descriptor, const struct stat& now) const noexcept;

    std::string path_;  // as the system knows it
    struct stat status_;
};

}  // namespace cleave
