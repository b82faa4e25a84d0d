// Files with random access. Knows nothing about CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/blob.h"
#include "cleave/input.h"
#include "core/reader/mapping.h"
#include "core/reader/source.h"

namespace cleave {

// A file, from the offset where reading begins to what was its end when it was opened.
class FileBlob : public Blob {
public:
    std::uint64_t size() const noexcept override { return size_; }
    // What mapped() returns, or a copy of what read() reads.
    std::span<const std::uint8_t> lend(std::uint64_t offset, std::size_t size,
                                       std::vector<std::uint8_t>& buffer) const override;
    void throw_if_changed() const override { source_.throw_if_changed(has_lost()); }
    // Throws SystemError, EIO, for a temporary file.
    void throw_if_lost() const override;

    // Whether some lent bytes could not be read and were replaced with zeros.
    virtual bool has_lost() const noexcept { return false; }
    virtual bool is_mapped() const noexcept { return false; }
    BlobBacking backing() const noexcept override { return {source_.file.get(), source_.remote.get(), source_.offset}; }
    void will_read(BlobRange range) const noexcept override {
        if (source_.remote) source_.remote->will_read(source_.offset + range.offset, range.size);
    }
    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override;

    // How many threads will read at once: see GzipBlob.
    virtual void set_threads(unsigned /*threads*/) noexcept {}

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

}  // namespace cleave
