// Memory for values that must not leak: no core dump holds it, and it is zeroed when it is released. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// Owned bytes that can grow. The content stays when it grows, wherever the pages are moved.
class ValueBuffer {
public:
    ValueBuffer() = default;
    ValueBuffer(ValueBuffer&& other) noexcept;
    ValueBuffer& operator=(ValueBuffer&& other) noexcept;
    ~ValueBuffer();

    std::uint8_t* data() noexcept { return bytes_.data(); }
    const std::uint8_t* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }

    // Makes it at least `size` bytes long. Throws std::bad_alloc.
    void reserve(std::size_t size);

private:
    void release() noexcept;

    std::span<std::uint8_t> bytes_;
};

}  // namespace cleave
