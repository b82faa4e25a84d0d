#include "memory/value_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cleave {

ValueBuffer::ValueBuffer(ValueBuffer&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

ValueBuffer& ValueBuffer::operator=(ValueBuffer&& other) noexcept {
    if (this != &other) {
        release();
        bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
}

ValueBuffer::~ValueBuffer() { release(); }

void ValueBuffer::reserve(std::size_t size) {
    if (size <= bytes_.size()) return;
    constexpr std::size_t kGranule = std::size_t{64} << 10;
    const std::size_t wanted = std::max(size, bytes_.size() * 2);
    if (wanted > SIZE_MAX / 2) throw std::bad_alloc();
    const std::size_t rounded = (wanted + kGranule - 1) / kGranule * kGranule;
    // Not mremap(): the thread sanitizer does not see it, and takes the memory for that of another thread.
    void* memory = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, rounded, MADV_DONTDUMP);  // the process is not dumpable either
    if (!bytes_.empty()) std::memcpy(memory, bytes_.data(), bytes_.size());
    release();
    bytes_ = {static_cast<std::uint8_t*>(memory), rounded};
}

void ValueBuffer::release() noexcept {
    if (bytes_.empty()) return;
    ::explicit_bzero(bytes_.data(), bytes_.size());
    ::munmap(bytes_.data(), bytes_.size());
    bytes_ = {};
}

}  // namespace cleave
