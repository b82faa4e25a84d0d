// Memory for large amounts of data that are used once. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace cleave
