// Memory for values that must not leak: no core dump holds it, and it is zeroed when it is released. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "cleave/memory.h"

namespace cleave {

// Owned bytes of a memory manager that can grow. The content stays when it grows.
class ValueBuffer {
public:
    // `manager` is not null.
    explicit ValueBuffer(std::shared_ptr<MemoryManager> manager);

    std::uint8_t* data() noexcept { return memory_.data(); }
    const std::uint8_t* data() const noexcept { return memory_.data(); }
    std::size_t size() const noexcept { return memory_.size(); }

    // Makes it at least `size` bytes long. Throws MemoryError.
    void reserve(std::size_t size);
    // The same, but the content is lost where it grows, and need not be copied.
    void renew(std::size_t size) {
        if (size > memory_.size()) memory_.release();
        reserve(size);
    }
    // Gives the memory back. The buffer is empty.
    void release() noexcept { memory_.release(); }

private:
    std::shared_ptr<MemoryManager> manager_;
    Memory memory_;
};

}  // namespace cleave
