// Distributes a range of a blob among many destinations: each call appends the next few bytes to one destination. The
// range is read once, in order. Knows nothing about pieces.
//
// Each destination has a buffer, which is written out when the destination's offset reaches a multiple of the buffer
// size, so most writes are aligned. Large parts bypass the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "core/reader/read_ahead.h"

namespace cleave {

// For one thread at a time. Members throw Cancelled and whatever Blob::lend() and Write throw.
class Scatterer {
public:
    // Writes to destination `to`.
    using Write = std::function<void(std::size_t to, std::uint64_t offset, std::span<const std::uint8_t> bytes)>;

    // The bytes for destination i are written from offsets[i] on. The buffers take up at most `memory` bytes in all, or
    // 4 KiB each if that is more. `blob` and `cancellation`, which may be null, must outlive this object.
    Scatterer(const Blob& blob, BlobRange range, std::span<const std::uint64_t> offsets, std::size_t memory,
              Write write, const Cancellation* cancellation);

    // Sends the next `size` bytes of the range to destination `to`.
    void take(std::size_t to, std::uint64_t size) {
        Pending& pending = pending_[to];
        if (size > 0 && size < pending.room && size <= lent_.size()) {
            append(to, pending, static_cast<std::size_t>(size));
        } else {
            take_parts(to, pending, size);
        }
    }

    // Call this when the entire range has been taken.
    void finish();

private:
    struct Pending {
        std::uint64_t offset;  // where the first byte of the buffer goes
        std::uint32_t size;    // bytes in the buffer
        std::uint32_t room;    // how many more bytes fit before it must be written
    };

    std::uint8_t* buffer_of(std::size_t to) { return buffers_.get() + to * buffer_size_; }
    void append(std::size_t to, Pending& pending, std::size_t size) {
        std::memcpy(buffer_of(to) + pending.size, lent_.data(), size);
        lent_ = lent_.subspan(size);
        pending.size += static_cast<std::uint32_t>(size);
        pending.room -= static_cast<std::uint32_t>(size);
    }
    void take_parts(std::size_t to, Pending& pending, std::uint64_t size);
    void lend();
    void flush(std::size_t to, Pending& pending);
    std::uint32_t room_at(std::uint64_t offset) const {
        return static_cast<std::uint32_t>(buffer_size_ - offset % buffer_size_);
    }

    const Blob& blob_;
    BlobRange rest_;  // the part of the range after lent_
    Write write_;
    const Cancellation* cancellation_;
    ReadAhead ahead_;
    std::uint64_t read_ = 0;  // bytes of the range lent so far
    std::span<const std::uint8_t> lent_;
    std::vector<std::uint8_t> lent_copy_;
    std::size_t buffer_size_;  // a power of two
    std::unique_ptr<std::uint8_t[]> buffers_;
    std::vector<Pending> pending_;
};

}  // namespace cleave
