#include "core/reader/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace cleave {
namespace {

// Two files are compared in parts of this size.
constexpr std::uint64_t kComparedSize = std::uint64_t{1} << 20;

void remove(const Directory& directory, const std::string& name) noexcept {
    ::unlinkat(directory.descriptor(), name.c_str(), 0);
}

// Gives an open file a name. Returns what linkat() returns.
int link_descriptor(int descriptor, const Directory& directory, const std::string& name) {
    if (::linkat(descriptor, "", directory.descriptor(), name.c_str(), AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -1;
    // Before Linux 6.10 the call above needs a privilege; this one needs a mounted /proc.
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
    return ::linkat(AT_FDCWD, self.c_str(), directory.descriptor(), name.c_str(), AT_SYMLINK_FOLLOW);
}

// renameat2(), which musl lacks.
int rename_with(unsigned flags, const Directory& directory, const std::string& from, const std::string& to) {
    const int folder = directory.descriptor();
#ifdef __GLIBC__
    return ::renameat2(folder, from.c_str(), folder, to.c_str(), flags);
#else
    return static_cast<int>(::syscall(SYS_renameat2, folder, from.c_str(), folder, to.c_str(), flags));
#endif
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

Fd Directory::open(const std::string& folder) const {
    Fd fd(::openat(fd_.get(), std::string("./").append(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.is_open()) throw_errno(path_of(folder));
    return fd;
}

void Directory::sync() const {
    if (::fsync(open("").get()) != 0) throw_errno(path());
}

std::optional<std::unordered_set<std::string>> names_in(const Directory& directory, std::size_t most) {
    Fd readable(::openat(directory.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable.is_open()) return std::nullopt;
    const std::unique_ptr<DIR, decltype([](DIR* list) { ::closedir(list); })> list(::fdopendir(readable.get()));
    if (!list) return std::nullopt;
    readable.release();
    std::unordered_set<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(list.get())) {
        if (names.size() == most) return std::nullopt;
        names.emplace(entry->d_name);
    }
    if (errno != 0) return std::nullopt;
    return names;
}

std::optional<TemporaryFile> TemporaryFile::unnamed(const Directory& directory, const std::string& name,
                                                    mode_t permissions) {
    const std::string folder = std::string("./").append(folder_of(name));
    Fd fd(::openat(directory.descriptor(), folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, permissions));
    if (fd.is_open()) return TemporaryFile(directory, name, "", std::move(fd));
    // File systems that do not support such files report EOPNOTSUPP, or EISDIR if they predate them.
    if (errno != EOPNOTSUPP && errno != EISDIR) throw_errno(directory.path_of(name));
    return std::nullopt;
}

TemporaryFile TemporaryFile::hidden(const Directory& directory, const std::string& name, std::string hidden_name,
                                    mode_t permissions) {
    TemporaryFile file(directory, name, "", Fd());  // nothing may throw once the file exists
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
    // No other file has the hidden name.
    if (!hidden_name_.empty()) remove(*directory_, hidden_name_);
}

FileIdentity TemporaryFile::identity() const { return identity_of(stat_of(fd_.get(), path())); }

std::optional<FileIdentity> TemporaryFile::present(const Cancellation* cancellation) const {
    const std::uint64_t size = identity().size;
    const Fd file = open_if_of_size(*directory_, name_, size);
    if (!file.is_open()) return std::nullopt;
    std::vector<std::uint8_t> here(static_cast<std::size_t>(std::min(size, kComparedSize)));
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

void TemporaryFile::sync() const {
    if (::fsync(fd_.get()) != 0) throw_errno(path());
}

PublishedFile TemporaryFile::publish() {
    // Created before the file gets its name, because nothing may throw afterwards. Recognises the file by its identity.
    PublishedFile published(*directory_, name_, identity(), nullptr);
    if (!hidden_name_.empty()) {
        fd_.close(path());  // may report a failed write
        move_to_name();
        return published;
    }
    if (link_descriptor(fd_.get(), *directory_, name_) != 0) throw_errno(path());
    fd_.close(path());
    return published;
}

PublishedFile TemporaryFile::publish_instead(std::string hidden_name) {
    PublishedFile published(*directory_, name_, identity(),
                            std::make_unique<const std::string>(hidden_name));  // as in publish()
    if (hidden_name_.empty()) {
        if (link_descriptor(fd_.get(), *directory_, hidden_name) != 0) throw_errno(path());
        hidden_name_ = std::move(hidden_name);
    }
    fd_.close(path());
    if (rename_with(RENAME_EXCHANGE, *directory_, hidden_name_, name_) != 0) {
        throw_errno(path());
    }
    hidden_name_.clear();
    return published;
}

void TemporaryFile::move_to_name() {
    const int directory = directory_->descriptor();
    const std::string hidden_name = hidden_name_;
    if (rename_with(RENAME_NOREPLACE, *directory_, hidden_name, name_) == 0) {
        hidden_name_.clear();
        return;
    }
    // File systems without RENAME_NOREPLACE report EINVAL; there, a second link is just as safe.
    if (errno != EINVAL && errno != ENOSYS) throw_errno(path());
    if (::linkat(directory, hidden_name.c_str(), directory, name_.c_str(), 0) != 0) throw_errno(path());
    remove(*directory_, hidden_name);
    hidden_name_.clear();
}

bool can_name_descriptors(const Directory& directory, int descriptor, const std::string& taken_name) {
    return link_descriptor(descriptor, directory, taken_name) == 0 || errno != ENOENT;
}

Fd open_regular(const Directory& directory, const std::string& name) {
    const std::string path = directory.path_of(name);
    Fd file(::openat(directory.descriptor(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) throw_errno(path);
    if (!S_ISREG(stat_of(file.get(), path).st_mode)) return {};
    return file;
}

Fd open_if_of_size(const Directory& directory, const std::string& name, std::uint64_t size) {
    Fd file = open_regular(directory, name);
    const bool is_of_size =
        file.is_open() && std::cmp_equal(stat_of(file.get(), directory.path_of(name)).st_size, size);
    return is_of_size ? std::move(file) : Fd();
}

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

PublishedFile::PublishedFile(PublishedFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::exchange(other.name_, {})),
      replaced_(std::move(other.replaced_)),
      device_(other.device_),
      inode_(other.inode_) {}

PublishedFile::~PublishedFile() {
    if (name_.empty()) return;
    struct stat now;
    if (::fstatat(directory_->descriptor(), name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (now.st_dev != device_ || now.st_ino != inode_) return;
    if (!replaced_) {
        remove(*directory_, name_);
    } else {
        ::renameat(directory_->descriptor(), replaced_->c_str(), directory_->descriptor(), name_.c_str());
    }
}

void PublishedFile::keep() noexcept {
    if (replaced_) remove(*directory_, *replaced_);
    name_.clear();
}

}  // namespace cleave
