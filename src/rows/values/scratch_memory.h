// Memory for large amounts of data that are used once. Knows nothing about CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "core/reader/file_blob.h"
#include "core/reader/source.h"

namespace cleave {

// Bytes that start out as zeros. Small amounts are kept in memory; larger ones are kept in a mapping of an unlinked
// temporary file, so that the system can reclaim the memory.
class ScratchMemory {
public:
    static constexpr std::uint64_t kMaxInMemory = std::uint64_t{1} << 20;

    ScratchMemory() = default;
    // Throws SystemError, also if the file system has no room for them.
    explicit ScratchMemory(std::uint64_t size);
    ScratchMemory(ScratchMemory&& other) noexcept;
    ScratchMemory& operator=(ScratchMemory&& other) noexcept;
    ~ScratchMemory();

    std::uint64_t size() const { return bytes_.size(); }

    // The bytes as objects of a type that needs no constructor.
    template <class T>
    std::span<T> as() const {
        return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
    }

private:
    std::span<std::uint8_t> bytes_;
};

// Bytes that are first written to an unlinked temporary file and then read as a blob. Knows nothing about CSV.

// Members throw SystemError.
class TemporaryBlob {
public:
    TemporaryBlob();
    TemporaryBlob(const TemporaryBlob&) = delete;
    TemporaryBlob& operator=(const TemporaryBlob&) = delete;

    // Appends to the file. Do not mix with write_at(). Use from one thread. Also throws Cancelled.
    void append(std::span<const std::uint8_t> bytes, const Cancellation* cancellation);
    // Writes at an offset. Bytes that were never written are zeros and take no space. Thread-safe.
    void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes);

    // Call this when everything is written, before blob().
    void finish();
    const Blob& blob() const { return *blob_; }

    // Throws EIO if some bytes of blob() could not be read and were replaced with zeros. Thread-safe.
    void throw_if_lost() const {
        if (blob_) blob_->throw_if_lost();
    }

private:
    Source source_;
    std::unique_ptr<FileBlob> blob_;
};

}  // namespace cleave
