// Files with random access. Knows no CSV.
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

// A file, from where reading begins to the end that the file had when it was opened.
class FileBlob : public Blob {
public:
    std::uint64_t size() const noexcept override { return size_; }
    void throw_if_changed() const override { source_.throw_if_changed(has_lost()); }
    // For a temporary file it is std::system_error: EIO.
    void throw_if_lost() const override;

    // Whether bytes that were lent could not be read and were zeros instead.
    virtual bool has_lost() const noexcept { return false; }
    // All bytes, if they are mapped; else none.
    virtual std::span<const std::uint8_t> mapped() const noexcept { return {}; }
    virtual bool is_mapped() const noexcept { return false; }

    // Fills `into` with the bytes from `offset` on, by pread(), also if they are mapped from a file. Throws as lend().
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> into) const;

    // Takes bytes away from the end, at most size(). Not while another thread uses the blob.
    void leave_out(std::uint64_t size) noexcept { size_ -= size; }

    const Source& source() const noexcept { return source_; }

protected:
    FileBlob(const Source& source, std::uint64_t size) : source_(source), size_(size) {}

private:
    void require_version() const;

    const Source& source_;
    std::uint64_t size_;
};

// The blob of a regular file that has bytes from source.offset on; nothing if it is to be mapped and the system
// refuses. `source` must outlive it and not be moved.
std::unique_ptr<FileBlob> make_file_blob(const Source& source, Access access);
// The blob of a file without bytes.
std::unique_ptr<FileBlob> make_empty_blob(const Source& source, Access access);
// Bytes in memory, which must outlive the blob, as those of `source`, which has no file.
std::unique_ptr<FileBlob> make_memory_blob(const Source& source, std::span<const std::uint8_t> bytes);

// A file, and where in it something lies.
struct FileBehind {
    int descriptor = -1;  // -1: no file
    std::uint64_t offset = 0;
};

// The file that the blob's bytes lie in, and where they begin. No file if the blob is another one than a FileBlob.
FileBehind file_behind(const Blob& blob) noexcept;

// The bytes [offset, offset + size) of the blob if they are mapped from a file; else none.
std::span<const std::uint8_t> mapped_bytes(const Blob& blob, std::uint64_t offset, std::uint64_t size) noexcept;

}  // namespace cleave
