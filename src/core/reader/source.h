// An open file or pipe or a remote file, and whether it has changed since it was opened. Knows nothing about CSV.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/reader/fd.h"
#include "core/reader/remote_file.h"

namespace cleave {

// Tells whether an open file has changed.

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

struct Source {
    Fd file;                             // not open if it is remote
    std::string name;                    // as shown in messages
    struct stat status;                  // when it was opened
    std::uint64_t offset = 0;            // where reading begins in the file
    std::optional<FileVersion> version;  // only if other processes can change the file
    bool is_snapshot = false;            // appended bytes do not count as a change

    std::shared_ptr<const RemoteFile> remote;  // or null; then the status says nothing

    // Whether it is a regular or remote file, and how many bytes the file had when it was opened. A file in /proc has
    // more than it says.
    bool is_file() const noexcept { return remote || S_ISREG(status.st_mode); }
    std::uint64_t size() const noexcept { return remote ? remote->size() : static_cast<std::uint64_t>(status.st_size); }

    // Fills `into` with the bytes from `at` on, counted from the beginning of the file, unless the end comes first.
    // Returns the number of bytes. Throws SystemError and what RemoteFile::read() throws. Any thread may call it.
    std::size_t read_at(std::uint64_t at, std::span<std::uint8_t> into) const;

    // Like the members of Input with the same names. `has_lost` says that some bytes could not be read and were
    // replaced with zeros.
    void throw_if_changed(bool has_lost) const;
    bool is_unchanged(bool has_lost) const noexcept;

    // Like Input::accept_touch(), for a blob that has lost nothing.
    bool accept_touch();

private:
    enum class Trust : std::uint8_t { kGood, kShortened, kGrown, kChanged, kUnreadable };

    FileChange change() const noexcept;
    Trust trust(FileChange change, bool has_lost) const noexcept;
    void judge(FileChange change, bool has_lost) const;
};

}  // namespace cleave
