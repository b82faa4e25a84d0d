#include "core/reader/copy.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/reader/read_ahead.h"

namespace cleave {
namespace {

// How many bytes are written in one call, and between two checks for cancellation.
constexpr std::uint64_t kWriteSize = std::uint64_t{1} << 20;

// How many bytes the system copies in one call. A server can copy a lot in one call.
constexpr std::uint64_t kCopySize = std::uint64_t{1} << 30;

void for_each_part(const Blob& blob, BlobRange range, std::uint64_t part_size, const Cancellation* cancellation,
                   FunctionRef<void(std::span<const std::uint8_t>)> take) {
    std::vector<std::uint8_t> buffer;
    while (range.size > 0) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        const std::uint64_t size = blob.unbroken(range.offset, std::min(range.size, part_size));
        take(blob.lend(range.offset, static_cast<std::size_t>(size), buffer));
        range.offset += size;
        range.size -= size;
    }
}

// Whether the error means that the system itself cannot copy between these two files.
bool must_copy_by_hand(int error) {
    return error == EXDEV || error == EINVAL || error == EOPNOTSUPP || error == ENOSYS || error == EBADF ||
           error == ETXTBSY;
}

// Whether the file is on a server, which may copy without sending the bytes here and back.
bool is_remote(int descriptor) {
    constexpr unsigned kCephMagic = 0x00C36400;
    constexpr unsigned kCifsMagic = 0xFF534D42;
    constexpr unsigned kSmb2Magic = 0xFE534D42;
    struct statfs status;
    if (::fstatfs(descriptor, &status) != 0) return false;
    const auto type = static_cast<unsigned>(status.f_type);
    return type == NFS_SUPER_MAGIC || type == kCephMagic || type == kCifsMagic || type == kSmb2Magic;
}

}  // namespace

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

void for_each_part(const Blob& blob, BlobRange range, const Cancellation* cancellation,
                   FunctionRef<void(std::span<const std::uint8_t>)> take) {
    for_each_part(blob, range, kWriteSize, cancellation, take);
}

std::uint64_t copy_by_system(const Blob& blob, BlobRange range, int descriptor, const std::string& name,
                             const Cancellation* cancellation) {
    const BlobBacking file = blob.backing();
    std::uint64_t done = 0;
    while (file.descriptor >= 0 && done < range.size) {
        if (cancellation != nullptr) cancellation->throw_if_requested();
        auto source = static_cast<off_t>(file.offset + range.offset + done);
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
    if (range.size >= kWriteSize && is_remote(blob.backing().descriptor)) {
        const std::uint64_t copied = copy_by_system(blob, range, descriptor, name, cancellation);
        range = {range.offset + copied, range.size - copied};
    }
    ReadAhead ahead(blob, range.offset, range.offset + range.size);
    std::uint64_t done = 0;
    for_each_part(blob, range, blob.best_size(), cancellation, [&](std::span<const std::uint8_t> bytes) {
        done += bytes.size();
        ahead.wait_for(done);
        write_all(descriptor, bytes, name, cancellation);
    });
}

bool has_blocks(const Blob& blob, std::uint64_t block_size) noexcept {
    const BlobBacking file = blob.backing();
    return file.descriptor >= 0 && file.offset % block_size == 0;
}

std::error_code clone_range(const Blob& blob, BlobRange range, int descriptor, const std::string& name,
                            const Cancellation* cancellation) {
    const BlobBacking file = blob.backing();
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
