// Bytes that are first written to an unlinked temporary file and then read as a blob. Knows nothing about CSV.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "core/reader/file_blob.h"
#include "core/reader/source.h"

namespace cleave {

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
