// Bytes of a blob that nobody else can change.
//
// A mapping of a file belongs to whoever writes the file. Whoever finds fields in bytes and then copies them by what
// was found reads the bytes twice, and needs bytes of its own: what a writer changes in between would become a field
// that never stood in the file, or one that ends outside the memory that it was read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "cleave/blob.h"
#include "memory/value_buffer.h"

namespace cleave {

// Both copy `into.size()` bytes of the blob, from `offset` on. They must lie in it. Both throw as Blob::lend() and
// Blob::throw_if_lost().
//
// By pread(), if it is a file, also if that is mapped: no signal is raised where the file has become shorter.
void read_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into);
// From the mapping, if there is one, which takes less time.
void copy_bytes(const Blob& blob, std::uint64_t offset, std::span<std::uint8_t> into);

// For one thread at a time.
class PrivateBytes {
public:
    // `memory` is not null.
    explicit PrivateBytes(std::shared_ptr<MemoryManager> memory) : buffer_(std::move(memory)) {}

    // A copy of the bytes [offset, offset + size), valid until the next call. Throws as copy_bytes(), MemoryError.
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
