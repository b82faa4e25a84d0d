#include "rows/values/scratch_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "cleave/error.h"
#include "core/reader/fd.h"

namespace cleave {

// The file gets all its blocks at once: if a write to a mapping found no room, SIGBUS would kill the process.
ScratchMemory::ScratchMemory(std::uint64_t size) {
    if (size == 0) return;
    Fd file;
    if (size > kMaxInMemory) {
        file = open_unlinked_temporary();
        int error = EINTR;
        while (error == EINTR) error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(size));
        if (error != 0) throw SystemError(error, std::generic_category(), temporary_name());
    }
    const int flags = file.is_open() ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file.get(), 0);
    if (memory == MAP_FAILED) throw_errno(temporary_name());
    bytes_ = {static_cast<std::uint8_t*>(memory), static_cast<std::size_t>(size)};
}

ScratchMemory::ScratchMemory(ScratchMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

ScratchMemory& ScratchMemory::operator=(ScratchMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
}

ScratchMemory::~ScratchMemory() {
    if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

TemporaryBlob::TemporaryBlob() {
    source_.file = open_unlinked_temporary();
    source_.name = temporary_name();
}

// NOLINTNEXTLINE(readability-make-member-function-const): it changes the file
void TemporaryBlob::append(std::span<const std::uint8_t> bytes, const Cancellation* cancellation) {
    write_all(source_.file.get(), bytes, source_.name, cancellation);
}

// NOLINTNEXTLINE(readability-make-member-function-const): as above
void TemporaryBlob::write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    write_all_at(source_.file.get(), offset, bytes, source_.name);
}

void TemporaryBlob::finish() {
    source_.status = stat_of(source_.file.get(), source_.name);
    if (source_.status.st_size > 0) blob_ = make_file_blob(source_, Access::kMapped);
    if (!blob_ && source_.status.st_size > 0) blob_ = make_file_blob(source_, Access::kRead);
    if (!blob_) blob_ = make_empty_blob(source_, Access::kRead);
}

}  // namespace cleave
