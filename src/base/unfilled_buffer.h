// An uninitialised buffer. Parts of it that are never used cost neither time nor memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace cleave {

class UnfilledBuffer {
public:
    // Returns the buffer, grown to at least `size` bytes. `kept`, which may be part of the buffer, is moved to its
    // front. Spans returned earlier may dangle. Throws std::bad_alloc.
    std::span<std::uint8_t> grow(std::size_t size, std::span<const std::uint8_t> kept = {}) {
        std::unique_ptr<std::uint8_t[]> larger;
        if (size > size_) larger = std::make_unique_for_overwrite<std::uint8_t[]>(size);
        std::uint8_t* const front = larger ? larger.get() : bytes_.get();
        if (!kept.empty()) std::memmove(front, kept.data(), kept.size());
        if (larger) {
            bytes_ = std::move(larger);
            size_ = size;
        }
        return {bytes_.get(), size_};
    }

private:
    std::unique_ptr<std::uint8_t[]> bytes_;
    std::size_t size_ = 0;
};

}  // namespace cleave
