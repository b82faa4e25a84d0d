// Files that appear under their names only when they are complete. Knows no pieces.
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
#include "io/fd.h"

namespace cleave {

// A directory, opened once: files are made there even if the path leads elsewhere later. Names of files may lead into
// directories below.
class Directory {
public:
    // `folder` ends with a slash, or is empty for the current directory. Throws std::system_error.
    explicit Directory(std::string folder);

    int descriptor() const noexcept { return fd_.get(); }
    // For messages.
    std::string path() const;
    std::string path_of(const std::string& name) const { return folder_ + name; }

    // Opens a folder below for reading, or, if `folder` is empty, this one. Throws std::system_error.
    Fd open(const std::string& folder) const;
    // Waits until the names in the directory are on stable storage. Throws std::system_error.
    void sync() const;

private:
    std::string folder_;
    Fd fd_;
};

// The names in the directory, "." and ".." among them; nothing if there are more than `most`, or it cannot be listed.
std::optional<std::unordered_set<std::string>> names_in(const Directory& directory, std::size_t most);

// A file that has its name, and is removed again unless it is kept. Small: there may be a million of them.
class PublishedFile {
public:
    PublishedFile(PublishedFile&& other) noexcept;
    PublishedFile& operator=(PublishedFile&&) = delete;
    // Unless kept: removes the file, or puts the replaced one back. Does nothing if another file has the name now.
    ~PublishedFile();

    // The file stays, and the replaced one is removed.
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
    std::string name_;                             // empty once it is kept
    std::unique_ptr<const std::string> replaced_;  // the hidden name of what had the name before, or null
    std::uint64_t device_;
    std::uint64_t inode_;
};

// A file that is being written: without a name, or under a hidden name where the file system has no files without
// names. It is removed again unless it is published. `directory` must outlive it. Everything throws std::system_error
// with the path of `name`.
class TemporaryFile {
public:
    // A file without a name, to be called `name`; nothing if the file system has no such files. It can be published
    // only if can_name_descriptors(). Its mode is `permissions` less the umask; the descriptor can be read and written
    // whatever the mode.
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

    // Waits until the bytes and the mode are on stable storage.
    void sync() const;

    // Closes the file and gives it its name, which must be free: EEXIST otherwise.
    PublishedFile publish();

    // Closes the file and exchanges names with the file that has its name; the other file gets the hidden name.
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

// Opens the regular file of that name; if it is none, the result is closed. Does not wait, follows no link. Throws
// std::system_error.
Fd open_regular(const Directory& directory, const std::string& name);
// The same if the file has that size.
Fd open_if_of_size(const Directory& directory, const std::string& name, std::uint64_t size);

}  // namespace cleave
