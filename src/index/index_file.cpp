// Opens the index of an input and judges whether it may be believed. The first fault that is found is the reason:
//
//   a link, a directory, a device; others may write it; damaged, of another version; of another dialect;
//   the file's size or time of the last write differs;
//   the file's time of the last status change or its inode differs
//
// The last check is the one that cannot be forged: an archive or `touch` sets the time of the last write, but nobody
// sets the time of the last status change. An index that fails only this check can be good, and a comparison with the
// file tells (IndexMatch::kSameTime).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "cleave/index_file.h"
#include "dialect/check_arguments.h"
#include "io/fd.h"
#include "io/mapping.h"

namespace cleave {

struct IndexFile::Impl {
    Mapping mapping;
    IndexView view;
};

namespace {

// The owner of the file may write an index for others who can read the file. So may root.
bool is_trusted(const struct stat& status, const FileIdentity& file) {
    const bool is_owned = status.st_uid == file.owner || status.st_uid == ::geteuid() || status.st_uid == 0;
    return is_owned && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

Fd open_index(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.is_open() || errno == ENOENT) return fd;
    if (errno == ELOOP) throw IndexError("it is a symbolic link");
    throw_errno(path);
}

Mapping map_index(const Fd& fd, const std::string& path, const FileIdentity& file) {
    const struct stat status = stat_of(fd.get(), path);
    if (!S_ISREG(status.st_mode)) throw IndexError("it is not a regular file");
    if (!is_trusted(status, file)) throw IndexError("others may write to it");
    if (status.st_size == 0) return Mapping::of_nothing();
    auto mapping = Mapping::of(fd.get(), 0, static_cast<std::uint64_t>(status.st_size));
    if (!mapping) throw IndexError("it cannot be mapped");
    return std::move(*mapping);
}

void judge(const IndexHead& head, const Input& input, const Dialect& dialect, IndexMatch match) {
    if (head.dialect_digest != dialect_digest(dialect)) throw IndexError("it was made for another dialect");
    const FileIdentity file = input.identity();
    if (head.size != file.size || head.size != input.blob().size() || head.mtime_ns != file.mtime_ns) {
        throw IndexError("the file has changed since");
    }
    if (match == IndexMatch::kSameFile && (head.ctime_ns != file.ctime_ns || head.inode != file.inode)) {
        throw IndexError("the file was copied, moved or touched since; cleave index --verify can renew it");
    }
}

}  // namespace

IndexFile::IndexFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
IndexFile::~IndexFile() = default;

std::shared_ptr<const IndexFile> IndexFile::open(const Input& input, const Dialect& dialect, IndexMatch match) {
    checked(dialect);
    if (input.is_stream()) throw std::invalid_argument("index: the input is a stream");
    const std::string path = index_path(input.path());
    const Fd fd = open_index(path);
    if (!fd.is_open()) return nullptr;
    Mapping mapping = map_index(fd, path, input.identity());
    const IndexView view(mapping.bytes());  // a view of the mapping, wherever its owner is
    auto file = std::make_shared<const IndexFile>(std::make_unique<Impl>(Impl{std::move(mapping), view}));
    file->throw_if_lost();
    judge(view.head(), input, dialect, match);
    return file;
}

const IndexView& IndexFile::view() const noexcept { return impl_->view; }

void IndexFile::throw_if_lost() const {
    if (impl_->mapping.has_faulted()) throw IndexError("it could not be read");
}

}  // namespace cleave
