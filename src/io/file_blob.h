// Files with random access. Knows nothing about CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/blob.h"
#include "cleave/input.h"
#include "io/mapping.h"
#include "io/source.h"

namespace cleave {

// A file, from the offset where reading begins to what was its end when it was opened.
class FileBlob : public Blob {
public:
    std::uint64_t size() const noexcept override { return size_; }
    void throw_if_changed() const override { source_.throw_if_changed(has_lost()); }
    // Throws SystemError, EIO, for a temporary file.
    void throw_if_lost() const override;

    // Whether some lent bytes could not be read and were replaced with zeros.
    virtual bool has_lost() const noexcept { return false; }
    // All bytes of the blob if they are mapped; otherwise empty.
    virtual std::span<const std::uint8_t> mapped() const noexcept { return {}; }
    virtual bool is_mapped() const noexcept { return false; }

    // Whether the bytes are in the file as they are.
    virtual bool is_stored_as_is() const noexcept { return true; }

    // How many bytes are best asked for at once by a thread that reads a long range alone.
    virtual std::uint64_t best_size() const noexcept { return std::uint64_t{1} << 20; }

    // Fills `into` with the bytes from `offset` on. Uses pread(), even if the bytes are mapped from a file. Throws what
    // lend() throws.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> into) const;

    // Drops the last `size` bytes, which may be at most size(). Do not call this while another thread uses the blob.
    void leave_out(std::uint64_t size) noexcept { size_ -= size; }

    const Source& source() const noexcept { return source_; }

protected:
    FileBlob(const Source& source, std::uint64_t size) : source_(source), size_(size) {}

private:
    void require_version() const;

    const Source& source_;
    std::uint64_t size_;
};

// The blob of a remote file, or of a regular file that has at least one byte from source.offset on. Returns null if
// `access` asks for a mapping and the system refuses. `source` must outlive the blob and must not be moved.
std::unique_ptr<FileBlob> make_file_blob(const Source& source, Access access);
// The blob of an empty file.
std::unique_ptr<FileBlob> make_empty_blob(const Source& source, Access access);
// The blob of bytes in memory, which must outlive it. `source` has no file.
std::unique_ptr<FileBlob> make_memory_blob(const Source& source, std::span<const std::uint8_t> bytes);

// A file, and an offset in it.
struct FileBehind {
    int descriptor = -1;  // -1: no file
    std::uint64_t offset = 0;
};

// The file that holds the blob's bytes as they are, and where they begin. There is no file if the blob is not a
// FileBlob or a range of one.
FileBehind file_behind(const Blob& blob) noexcept;

// The same for a remote file, or null.
struct RemoteBehind {
    const RemoteFile* file = nullptr;
    std::uint64_t offset = 0;
};
RemoteBehind remote_behind(const Blob& blob) noexcept;

// The bytes [offset, offset + size) of the blob if they are mapped from a file; otherwise empty.
std::span<const std::uint8_t> mapped_bytes(const Blob& blob, std::uint64_t offset, std::uint64_t size) noexcept;

}  // namespace cleave
