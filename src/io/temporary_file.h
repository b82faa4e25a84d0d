// Files that appear under their names only when they are complete. Knows no pieces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cleave/cancel.h"
#include "cleave/input.h"
#include "io/fd.h"

namespace cleave {

// A directory, opened once: what is made goes there even if its path changes its meaning meanwhile. Names of files in
// it may lead into directories below.
class Directory {
public:
    // `folder` ends with a slash, or is empty for the current directory. Throws std::system_error.
    explicit Directory(std::string folder);

    int descriptor() const noexcept { return fd_.get(); }
    // For messages.
    std::string path() const;
    std::string path_of(const std::string& name) const { return folder_ + name; }

private:
    std::string folder_;
    Fd fd_;
};

// A file with a name that is taken back unless it is kept.
class PublishedFile {
public:
    PublishedFile(PublishedFile&& other) noexcept;
    PublishedFile& operator=(PublishedFile&&) = delete;
    // Removes the file, or puts what it replaced back, if it is still the same file.
    ~PublishedFile();

    // The file stays, and what it replaced is gone.
    void keep() noexcept;

private:
    friend class TemporaryFile;
    PublishedFile(const Directory& directory, std::string name, FileIdentity identity, std::string replaced)
        : directory_(&directory), name_(std::move(name)), replaced_(std::move(replaced)), identity_(identity) {}

    const Directory* directory_;
    std::string name_;      // empty once it is kept
    std::string replaced_;  // the hidden name of what had the name before, or empty
    FileIdentity identity_;
};

// A file that is being written: one without a name where the file system has such files, else under a hidden name. It
// is gone again unless it is published. `directory` must outlive it. Everything throws std::system_error with the path
// of `name`.
class TemporaryFile {
public:
    // A file without a name, to be called `name`; nothing if the file system has no such files. Only where
    // can_name_descriptors() it can be published. Its mode is `permissions` less the umask; the descriptor can be read
    // and written whatever the mode.
    static std::optional<TemporaryFile> unnamed(const Directory& directory, const std::string& name,
                                                mode_t permissions);
    // A file under a hidden name, which lies beside `name`; the mode as above. Throws EEXIST if there is such a file.
    static TemporaryFile hidden(const Directory& directory, const std::string& name, std::string hidden_name,
                                mode_t permissions);

    TemporaryFile(TemporaryFile&& other) noexcept;
    TemporaryFile& operator=(TemporaryFile&&) = delete;
    ~TemporaryFile();

    int descriptor() const noexcept { return fd_.get(); }
    FileIdentity identity() const;

    // The identity of the regular file that has the name now, if it consists of the same bytes. Throws Cancelled too.
    std::optional<FileIdentity> present(const Cancellation* cancellation) const;

    // Closes the file and gives it its name, which must be free: EEXIST otherwise.
    PublishedFile publish();

    // Closes the file and lets it change names with what has its name; the other one is under the hidden name then.
    PublishedFile publish_instead(std::string hidden_name);

    const Directory& directory() const noexcept { return *directory_; }
    const std::string& name() const noexcept { return name_; }
    // For messages.
    std::string path() const { return directory_->path_of(name_); }
    // Empty if it has none.
    const std::string& hidden_name() const noexcept { return hidden_name_; }

private:
    TemporaryFile(const Directory& directory, std::string name, std::string hidden_name, Fd fd)
        : directory_(&directory), name_(std::move(name)), hidden_name_(std::move(hidden_name)), fd_(std::move(fd)) {}
    void move_to_name();

    const Directory* directory_;
    std::string name_;
    std::string hidden_name_;
    Fd fd_;
};

// Whether this process can give a name to an open file that has none. Before Linux 6.10 that takes a privilege or a
// mounted /proc. Tried with the descriptor of a file in the directory and a name that is taken there, so nothing is
// made.
bool can_name_descriptors(const Directory& directory, int descriptor, const std::string& taken_name);

// "a/b/" of "a/b/c", "" of "c".
std::string_view folder_of(std::string_view path);

// The regular file of that name, if it is of that size; closed if not. Throws std::system_error.
Fd open_if_of_size(const Directory& directory, const std::string& name, std::uint64_t size);

}  // namespace cleave
