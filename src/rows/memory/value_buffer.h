// Memory for values that must not leak: it is left out of core dumps and zeroed when released. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cleave/memory.h"

namespace cleave {

// A growable buffer from a memory manager. Growing preserves the content.
class ValueBuffer {
public:
    // `manager` must not be null.
    explicit ValueBuffer(std::shared_ptr<MemoryManager> manager);

    std::uint8_t* data() noexcept { return memory_.data(); }
    const std::uint8_t* data() const noexcept { return memory_.data(); }
    std::size_t size() const noexcept { return memory_.size(); }

    // Makes the buffer at least `size` bytes long. Throws MemoryError.
    void reserve(std::size_t size);
    // Like reserve(), but discards the content if the buffer grows, which saves copying it.
    void renew(std::size_t size) {
        if (size > memory_.size()) memory_.release();
        reserve(size);
    }
    // Gives the memory back and leaves the buffer empty.
    void release() noexcept { memory_.release(); }

private:
    std::shared_ptr<MemoryManager> manager_;
    Memory memory_;
};

}  // namespace cleave
