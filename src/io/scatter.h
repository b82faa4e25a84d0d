// Deals a range of a blob out to many places: each next few bytes go to one of them, appended to what it has. The range
// is read once, in order. Knows no pieces.
//
// Each place has a buffer. The buffer is written when the place's offset reaches a multiple of the buffer's size, so
// most writes are aligned. A large part that goes to one place is written without the buffer.
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
#include "io/read_ahead.h"

namespace cleave {

// For one thread at a time. Members throw what Blob::lend() and Write throw, Cancelled.
class Scatterer {
public:
    // Writes to a place, by number.
    using Write = std::function<void(std::size_t to, std::uint64_t offset, std::span<const std::uint8_t> bytes)>;

    // Place i gets its bytes from offsets[i] on. Buffers take up at most `memory` bytes, or 4 KiB each. `blob` and
    // `cancellation`, which may be null, must outlive it.
    Scatterer(const Blob& blob, BlobRange range, std::span<const std::uint64_t> offsets, std::size_t memory,
              Write write, const Cancellation* cancellation);

    // The next `size` bytes of the range go to that place.
    void take(std::size_t to, std::uint64_t size) {
        Place& place = places_[to];
        if (size > 0 && size < place.room && size <= lent_.size()) {
            append(to, place, static_cast<std::size_t>(size));
        } else {
            take_parts(to, place, size);
        }
    }

    // To be called when all of the range is taken.
    void finish();

private:
    struct Place {
        std::uint64_t offset;  // where the first byte of the buffer goes
        std::uint32_t size;    // of what is in the buffer
        std::uint32_t room;    // until it is to be written
    };

    std::uint8_t* buffer_of(std::size_t to) { return buffers_.get() + to * buffer_size_; }
    void append(std::size_t to, Place& place, std::size_t size) {
        std::memcpy(buffer_of(to) + place.size, lent_.data(), size);
        lent_ = lent_.subspan(size);
        place.size += static_cast<std::uint32_t>(size);
        place.room -= static_cast<std::uint32_t>(size);
    }
    void take_parts(std::size_t to, Place& place, std::uint64_t size);
    void lend();
    void flush(std::size_t to, Place& place);
    std::uint32_t room_at(std::uint64_t offset) const {
        return static_cast<std::uint32_t>(buffer_size_ - offset % buffer_size_);
    }

    const Blob& blob_;
    BlobRange rest_;  // of the range, behind lent_
    Write write_;
    const Cancellation* cancellation_;
    ReadAhead ahead_;
    std::uint64_t read_ = 0;  // bytes of the range that were lent
    std::span<const std::uint8_t> lent_;
    std::vector<std::uint8_t> lent_copy_;
    std::size_t buffer_size_;  // a power of two
    std::unique_ptr<std::uint8_t[]> buffers_;
    std::vector<Place> places_;
};

}  // namespace cleave
