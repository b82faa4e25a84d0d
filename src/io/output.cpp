#include "io/output.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

namespace cleave {
namespace {

// Written in one call, and between two looks at the cancellation.
constexpr std::uint64_t kWriteSize = std::uint64_t{1} << 20;

// Copied by the system in one call; a server can do much in one.
constexpr std::uint64_t kCopySize = std::uint64_t{1} << 30;

// Names that no other process and no other file of this one has; left-overs of a process with the same id are passed
// over by O_EXCL.
std::string hidden_name(unsigned attempt) {
    return ".cleave-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
}

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

}  // namespace

Directory::Directory(const std::string& path)
    : path_(path), fd_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (!fd_.is_open()) throw_errno(path);
}

std::string Directory::path_of(const std::string& name) const {
    if (path_ == ".") return name;
    return path_.ends_with('/') ? path_ + name : path_ + "/" + name;
}

TemporaryFile::TemporaryFile(const Directory& directory, std::string name)
    : directory_(&directory), name_(std::move(name)) {
    static std::atomic<unsigned> next_attempt{0};
    constexpr mode_t kReadWriteForAll = 0666;  // less the umask
    do {
        hidden_name_ = hidden_name(next_attempt.fetch_add(1));
        fd_ = Fd(::openat(directory.descriptor(), hidden_name_.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kReadWriteForAll));
    } while (!fd_.is_open() && errno == EEXIST);
    if (!fd_.is_open()) {
        hidden_name_.clear();
        throw_errno(path());
    }
    identity_ = identity_of(stat_of(fd_.get(), path()));
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : directory_(other.directory_),
      name_(std::move(other.name_)),
      hidden_name_(std::exchange(other.hidden_name_, {})),
      fd_(std::move(other.fd_)),
      identity_(other.identity_) {}

TemporaryFile::~TemporaryFile() {
    if (!hidden_name_.empty() && is_same(*directory_, hidden_name_, identity_)) remove(*directory_, hidden_name_);
}

PublishedFile TemporaryFile::publish(bool replace) {
    fd_.close(path());
    std::string replaced;
    if (replace && exchange_names()) {
        replaced = hidden_name_;
    } else {
        take_free_name();
    }
    hidden_name_.clear();
    return {*directory_, name_, identity_, std::move(replaced)};
}

// Swaps names with what has the name now; false if nothing has it.
bool TemporaryFile::exchange_names() {
    const int directory = directory_->descriptor();
    if (::renameat2(directory, hidden_name_.c_str(), directory, name_.c_str(), RENAME_EXCHANGE) == 0) return true;
    if (errno == ENOENT) return false;
    throw_errno(path());
}

void TemporaryFile::take_free_name() {
    const int directory = directory_->descriptor();
    if (::renameat2(directory, hidden_name_.c_str(), directory, name_.c_str(), RENAME_NOREPLACE) == 0) return;
    // File systems without RENAME_NOREPLACE say EINVAL; a second link is as safe there.
    if (errno != EINVAL && errno != ENOSYS) throw_errno(path());
    if (::linkat(directory, hidden_name_.c_str(), directory, name_.c_str(), 0) != 0) throw_errno(path());
    remove(*directory_, hidden_name_);
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

std::uint64_t copy_by_system(const Input& input, std::uint64_t offset, std::uint64_t size, int descriptor,
                             const std::string& name) {
    std::uint64_t done = 0;
    while (done < size) {
        if (input.cancellation() != nullptr) input.cancellation()->throw_if_requested();
        auto source = static_cast<off64_t>(input.descriptor_offset() + offset + done);
        const std::uint64_t part = std::min(size - done, kCopySize);
        const ssize_t copied = ::copy_file_range(input.descriptor(), &source, descriptor, nullptr, part, 0);
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

void copy_range(const Input& input, std::uint64_t offset, std::uint64_t size, int descriptor, const std::string& name) {
    const std::uint64_t end = offset + size;
    if (size >= kWriteSize && is_remote(input.descriptor())) {
        offset += copy_by_system(input, offset, size, descriptor, name);
    }
    while (offset < end) {
        const std::uint64_t part = std::min(end - offset, kWriteSize);
        write_all(descriptor, input.bytes().subspan(offset, part), name, input.cancellation());
        offset += part;
    }
}

std::error_code clone_range(const Input& input, std::uint64_t offset, std::uint64_t size, int descriptor,
                            const std::string& name) {
    const off_t end = ::lseek(descriptor, 0, SEEK_CUR);
    if (end < 0) throw_errno(name);
    const file_clone_range range{input.descriptor(), input.descriptor_offset() + offset, size,
                                 static_cast<std::uint64_t>(end)};
    do {
        if (input.cancellation() != nullptr) input.cancellation()->throw_if_requested();
        if (::ioctl(descriptor, FICLONERANGE, &range) == 0) {
            if (::lseek(descriptor, static_cast<off_t>(size), SEEK_CUR) < 0) throw_errno(name);
            return {};
        }
    } while (errno == EINTR);
    return {errno, std::generic_category()};
}

}  // namespace cleave
