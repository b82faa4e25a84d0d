// Files that appear under their names only once they are complete. Knows nothing about pieces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "cleave/cancel.h"
#include "cleave/input.h"
#include "core/reader/fd.h"

namespace cleave {

// A directory that is opened once: files are created in it even if its path later leads elsewhere. File names may lead
// into directories below it.
class Directory {
public:
    // `folder` ends with a slash, or is empty for the current directory. Throws SystemError.
    explicit Directory(std::string folder);

    int descriptor() const noexcept { return fd_.get(); }
    // As shown in messages.
    std::string path() const;
    std::string path_of(const std::string& name) const { return folder_ + name; }

    // Opens a folder below for reading, or this one if `folder` is empty. Throws SystemError.
    Fd open(const std::string& folder) const;
    // Waits until the names in the directory are on stable storage. Throws SystemError.
    void sync() const;

private:
    std::string folder_;
    Fd fd_;
};

// The names in the directory, including "." and ".."; nothing if there are more than `most` or the directory cannot be
// listed.
std::optional<std::unordered_set<std::string>> names_in(const Directory& directory, std::size_t most);

// A file that already has its name, and is removed again unless it is kept. Objects are small, because there may be a
// million of them.
class PublishedFile {
public:
    PublishedFile(PublishedFile&& other) noexcept;
    PublishedFile& operator=(PublishedFile&&) = delete;
    // Unless keep() was called, removes the file and, if it replaced another one, puts that one back. Does nothing if
    // another file has the name now.
    ~PublishedFile();

    // Keeps the file and removes the replaced one.
    void keep() noexcept;

private:
    friend class TemporaryFile;
    PublishedFile(const Directory& directory, std::string name, const FileIdentity& identity,
                  std::unique_ptr<const std::string> replaced)
        : directory_(&directory),
          name_(std::move(name)),
          replaced_(std::move(replaced)),
          device_(identity.device),
          inode_(identity.inode) {}

    const Directory* directory_;
    std::string name_;                             // empty once the file is kept
    std::unique_ptr<const std::string> replaced_;  // the hidden name of the previous holder of the name, or null
    std::uint64_t device_;
    std::uint64_t inode_;
};

// A file that is being written. It has no name, or a hidden name where the file system does not support nameless files.
// It is removed again unless it is published. `directory` must outlive it. All members throw SystemError with the
// path of `name`.
class TemporaryFile {
public:
    // A nameless file, to be called `name` later; nothing if the file system does not support such files. It can be
    // published only if can_name_descriptors() is true. Its mode is `permissions` less the umask; its descriptor can be
    // read and written whatever the mode.
    static std::optional<TemporaryFile> unnamed(const Directory& directory, const std::string& name,
                                                mode_t permissions);
    // A file with a hidden name in the folder of `name`, with the same mode. Throws EEXIST if the hidden name is taken.
    static TemporaryFile hidden(const Directory& directory, const std::string& name, std::string hidden_name,
                                mode_t permissions);

    TemporaryFile(TemporaryFile&& other) noexcept;
    TemporaryFile& operator=(TemporaryFile&&) = delete;
    ~TemporaryFile();

    int descriptor() const noexcept { return fd_.get(); }
    FileIdentity identity() const;

    // The identity of the regular file that has the name now, if it has the same content. Also throws Cancelled.
    std::optional<FileIdentity> present(const Cancellation* cancellation) const;

    // Waits until the content and the mode are on stable storage.
    void sync() const;

    // Closes the file and gives it its name. Throws EEXIST if the name is taken.
    PublishedFile publish();

    // Closes the file and exchanges names with the current holder of its name, which gets the hidden name.
    PublishedFile publish_instead(std::string hidden_name);

    const Directory& directory() const noexcept { return *directory_; }
    const std::string& name() const noexcept { return name_; }
    // As shown in messages.
    std::string path() const { return directory_->path_of(name_); }
    // Empty if there is none.
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

// Whether this process can give an open file a name. Before Linux 6.10 that requires a privilege or a mounted /proc.
// Tries it with the descriptor of a file in the directory and a name that is already taken there, so nothing is
// created.
bool can_name_descriptors(const Directory& directory, int descriptor, const std::string& taken_name);

// Returns "a/b/" for "a/b/c", and "" for "c".
std::string_view folder_of(std::string_view path);

// Opens the regular file called `name`; the result is closed if it is not a regular file. Does not wait, and does not
// follow a link. Throws SystemError.
Fd open_regular(const Directory& directory, const std::string& name);
// Like open_regular(), but the result is also closed if the file has a different size.
Fd open_if_of_size(const Directory& directory, const std::string& name, std::uint64_t size);

}  // namespace cleave
