// Bytes of a blob that no other process can change.
//
// The bytes of a mapped file can be changed by anyone who can write to the file. Code that finds fields in bytes and
// then copies these fields reads the bytes twice, so it needs its own copy. Otherwise a write in between would yield a
// field that was never in the file, or one that ends outside the memory that it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "cleave/blob.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

// Does what Blob::read() does, but copies from the mapping of a mapped blob, which is faster.
inline void copy_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into) {
    if (into.empty()) return;
    const auto bytes = blob.mapped(offset, into.size());
    if (bytes.empty()) return blob.read(offset, into);
    std::memcpy(into.data(), bytes.data(), into.size());
    blob.throw_if_lost();
}

// Use from one thread at a time.
class PrivateBytes {
public:
    // `memory` must not be null.
    explicit PrivateBytes(std::shared_ptr<MemoryManager> memory) : buffer_(std::move(memory)) {}

    // Returns a copy of the bytes [offset, offset + size). It is valid until the next call. Throws MemoryError, and
    // what copy_bytes() throws.
    std::span<const std::uint8_t> read(const Blob& blob, std::uint64_t offset, std::size_t size) {
        buffer_.renew(size);
        const std::span<std::uint8_t> bytes(buffer_.data(), size);
        copy_bytes(blob, offset, bytes);
        return bytes;
    }

private:
    ValueBuffer buffer_;
};

}  // namespace cleave
