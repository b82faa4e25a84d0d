#include "io/output.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "io/file_blob.h"
#include "io/read_ahead.h"

namespace cleave {
namespace {

// Written in one call, and between two looks at the cancellation.
constexpr std::uint64_t kWriteSize = std::uint64_t{1} << 20;

// Copied by the system in one call; a server can do much in one.
constexpr std::uint64_t kCopySize = std::uint64_t{1} << 30;

// The system cannot copy between these two files by itself.
bool must_copy_by_hand(int error) {
    return error == EXDEV || error == EINVAL || error == EOPNOTSUPP || error == ENOSYS || error == EBADF ||
           error == ETXTBSY;
}

// Whether the file lies with a server, which may copy without sending the bytes here and back.
bool is_remote(int descriptor) {
    constexpr unsigned kCephMagic = 0x00C36400;
    constexpr unsigned kCifsMagic = 0xFF534D42;
    constexpr unsigned kSmb2Magic = 0xFE534D42;
    struct statfs status;
    if (::fstatfs(descriptor, &status) != 0) return false;
    const auto type = static_cast<unsigned>(status.f_type);
    return type == NFS_SUPER_MAGIC || type == kCephMagic || type == kCifsMagic || type == kSmb2Magic;
}

bool is_same(const Directory& directory, const std::string& name, const FileIdentity& identity) noexcept {
    struct stat status;
    return ::fstatat(directory.descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           identity_of(status).is_same_file(identity);
}

void remove(const Directory& directory, const std::string& name) noexcept {
    ::unlinkat(directory.descriptor(), name.c_str(), 0);
}

// Gives an open file a name. As linkat() does.
int link_descriptor(int descriptor, const Directory& directory, const std::string& name) {
    if (::linkat(descriptor, "", directory.descriptor(), name.c_str(), AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -1;
    // Before Linux 6.10 that takes a privilege; this takes a mounted /proc.
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    return ::linkat(AT_FDCWD, self.c_str(), directory.descriptor(), name.c_str(), AT_SYMLINK_FOLLOW);
}

// Closed if there is another thing of that name than a regular file of that size.
Fd open_if_of_size(const Directory& directory, const std::string& name, std::uint64_t size) {
    const std::string path = directory.path_of(name);
    Fd file(::openat(directory.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) throw_errno(path);
    const struct stat status = stat_of(file.get(), path);
    if (!S_ISREG(status.st_mode) || std::cmp_not_equal(status.st_size, size)) return {};
    return file;
}

}  // namespace

Directory::Directory(std::string folder)
    : folder_(std::move(folder)), fd_(::open(path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!fd_.is_open()) throw_errno(path());
}

std::string Directory::path() const {
    if (folder_.empty()) return ".";
    return folder_.size() == 1 ? folder_ : folder_.substr(0, folder_.size() - 1);
}

std::optional<TemporaryFile> TemporaryFile::unnamed(const Directory& directory, const std::string& name,
                                                    mode_t permissions) {
    const std::string folder = std::string("./").append(folder_of(name));
    Fd fd(::openat(directory.descriptor(), folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, permissions));
    if (fd.is_open()) return TemporaryFile(directory, name, "", std::move(fd));
    // File systems without such files say EOPNOTSUPP, or EISDIR from before there were any.
    if (errno != EOPNOTSUPP && errno != EISDIR) throw_errno(directory.path_of(name));
    return std::nullopt;
}

TemporaryFile TemporaryFile::hidden(const Directory& directory, const std::string& name, std::string hidden_name,
                                    mode_t permissions) {
    TemporaryFile file(directory, name, "", Fd());  // nothing may throw once the file is there
    file.fd_ = Fd(::openat(directory.descriptor(), hidden_name.c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions));
    if (!file.fd_.is_open()) throw_errno(directory.path_of(name));
    file.hidden_name_ = std::move(hidden_name);
    return file;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::move(other.name_)),
      hidden_name_(std::exchange(other.hidden_name_, {})),
      fd_(std::move(other.fd_)) {}

TemporaryFile::~TemporaryFile() {
    // The hidden name is nobody else's.
    if (!hidden_name_.empty()) remove(*directory_, hidden_name_);
}

FileIdentity TemporaryFile::identity() const { return identity_of(stat_of(fd_.get(), path())); }

std::optional<FileIdentity> TemporaryFile::present(const Cancellation* cancellation) const {
    const std::uint64_t size = identity().size;
    const Fd file = open_if_of_size(*directory_, name_, size);
    if (!file.is_open()) return std::nullopt;
    std::vector<std::uint8_t> here(static_cast<std::size_t>(std::min(size, kWriteSize)));
    std::vector<std::uint8_t> there(here.size());
    for (std::uint64_t offset = 0; offset < size; offset += here.size()) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::size_t read = read_at(file.get(), offset, there, path());
        if (read_at(fd_.get(), offset, here, path()) != read || std::memcmp(here.data(), there.data(), read) != 0) {
            return std::nullopt;
        }
    }
    return identity_of(stat_of(file.get(), path()));
}

PublishedFile TemporaryFile::publish() {
    // Before the file can be seen: nothing may throw between that and `published`, which knows the file by its
    // identity.
    PublishedFile published(*directory_, name_, identity(), "");
    if (!hidden_name_.empty()) {
        fd_.close(path());  // may report that the bytes did not get to where they belong
        move_to_name();
        return published;
    }
    if (link_descriptor(fd_.get(), *directory_, name_) != 0) throw_errno(path());
    fd_.close(path());
    return published;
}

PublishedFile TemporaryFile::publish_instead(std::string hidden_name) {
    PublishedFile published(*directory_, name_, identity(), hidden_name);  // as in publish()
    if (hidden_name_.empty()) {
        if (link_descriptor(fd_.get(), *directory_, hidden_name) != 0) throw_errno(path());
        hidden_name_ = std::move(hidden_name);
    }
    fd_.close(path());
    const int directory = directory_->descriptor();
    if (::renameat2(directory, hidden_name_.c_str(), directory, name_.c_str(), RENAME_EXCHANGE) != 0) {
        throw_errno(path());
    }
    hidden_name_.clear();
    return published;
}

void TemporaryFile::move_to_name() {
    const int directory = directory_->descriptor();
    const std::string hidden_name = hidden_name_;
    if (::renameat2(directory, hidden_name.c_str(), directory, name_.c_str(), RENAME_NOREPLACE) == 0) {
        hidden_name_.clear();
        return;
    }
    // File systems without RENAME_NOREPLACE say EINVAL; a second link is as safe there.
    if (errno != EINVAL && errno != ENOSYS) throw_errno(path());
    if (::linkat(directory, hidden_name.c_str(), directory, name_.c_str(), 0) != 0) throw_errno(path());
    remove(*directory_, hidden_name);
    hidden_name_.clear();
}

bool can_name_descriptors(const Directory& directory, int descriptor, const std::string& taken_name) {
    return link_descriptor(descriptor, directory, taken_name) == 0 || errno != ENOENT;
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

std::optional<FileIdentity> find_file_of(const Directory& directory, const std::string& name, const Blob& blob,
                                         std::span<const BlobRange> parts, const Cancellation* cancellation) {
    std::uint64_t size = 0;
    for (const BlobRange& part : parts) size += part.size;
    const Fd file = open_if_of_size(directory, name, size);
    if (!file.is_open()) return std::nullopt;
    std::vector<std::uint8_t> there(static_cast<std::size_t>(std::min(size, kWriteSize)));
    std::vector<std::uint8_t> buffer;
    std::uint64_t offset = 0;
    for (BlobRange part : parts) {
        while (part.size > 0) {
            if (cancellation != nullptr) cancellation->throw_if_requested();
            const auto read = std::span(there).first(std::min<std::uint64_t>(there.size(), part.size));
            if (read_at(file.get(), offset, read, directory.path_of(name)) < read.size() ||
                std::memcmp(read.data(), blob.lend(part.offset, read.size(), buffer).data(), read.size()) != 0) {
                return std::nullopt;
            }
            part.offset += read.size();
            part.size -= read.size();
            offset += read.size();
        }
    }
    return identity_of(stat_of(file.get(), directory.path_of(name)));
}

PublishedFile::PublishedFile(PublishedFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::exchange(other.name_, {})),
      replaced_(std::move(other.replaced_)),
      identity_(other.identity_) {}

PublishedFile::~PublishedFile() {
    if (name_.empty() || !is_same(*directory_, name_, identity_)) return;
    if (replaced_.empty()) {
        remove(*directory_, name_);
    } else {
        ::renameat(directory_->descriptor(), replaced_.c_str(), directory_->descriptor(), name_.c_str());
    }
}

void PublishedFile::keep() noexcept {
    if (!replaced_.empty()) remove(*directory_, replaced_);
    name_.clear();
}

void for_each_part(const Blob& blob, BlobRange range, const Cancellation* cancellation,
                   const std::function<void(std::span<const std::uint8_t>)>& take) {
    std::vector<std::uint8_t> buffer;
    while (range.size > 0) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::uint64_t size = std::min(range.size, kWriteSize);
        take(blob.lend(range.offset, size, buffer));
        range.offset += size;
        range.size -= size;
    }
}

std::uint64_t copy_by_system(const Blob& blob, BlobRange range, int descriptor, const std::string& name,
                             const Cancellation* cancellation) {
    const FileBehind file = file_behind(blob);
    std::uint64_t done = 0;
    while (file.descriptor >= 0 && done < range.size) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        auto source = static_cast<off64_t>(file.offset + range.offset + done);
        const std::uint64_t part = std::min(range.size - done, kCopySize);
        const ssize_t copied = ::copy_file_range(file.descriptor, &source, descriptor, nullptr, part, 0);
        if (copied > 0) {
            done += static_cast<std::uint64_t>(copied);
        } else if (copied == 0 || must_copy_by_hand(errno)) {
            break;
        } else if (errno != EINTR) {
            throw_errno(name);
        }
    }
    return done;
}

void copy_range(const Blob& blob, BlobRange range, int descriptor, const std::string& name,
                const Cancellation* cancellation) {
    if (range.size >= kWriteSize && is_remote(file_behind(blob).descriptor)) {
        const std::uint64_t copied = copy_by_system(blob, range, descriptor, name, cancellation);
        range = {range.offset + copied, range.size - copied};
    }
    ReadAhead ahead(blob, range.offset, range.offset + range.size);
    std::uint64_t done = 0;
    for_each_part(blob, range, cancellation, [&](std::span<const std::uint8_t> bytes) {
        done += bytes.size();
        ahead.wait_for(done);
        write_all(descriptor, bytes, name, cancellation);
    });
}

bool has_blocks(const Blob& blob, std::uint64_t block_size) noexcept {
    const FileBehind file = file_behind(blob);
    return file.descriptor >= 0 && file.offset % block_size == 0;
}

std::error_code clone_range(const Blob& blob, BlobRange range, int descriptor, const std::string& name,
                            const Cancellation* cancellation) {
    const FileBehind file = file_behind(blob);
    if (file.descriptor < 0) return {EOPNOTSUPP, std::generic_category()};
    const off_t end = ::lseek(descriptor, 0, SEEK_CUR);
    if (end < 0) throw_errno(name);
    const file_clone_range source{file.descriptor, file.offset + range.offset, range.size,
                                  static_cast<std::uint64_t>(end)};
    do {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        if (::ioctl(descriptor, FICLONERANGE, &source) == 0) {
            if (::lseek(descriptor, static_cast<off_t>(range.size), SEEK_CUR) < 0) throw_errno(name);
            return {};
        }
    } while (errno == EINTR);
    return {errno, std::generic_category()};
}

}  // namespace cleave
