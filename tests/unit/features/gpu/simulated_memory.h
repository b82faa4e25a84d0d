// The memory of a simulated device, and its manager.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "rows/memory/manager_base.h"
#include "simulated_device.h"

namespace cleave {

// Memory that may be touched only while an Access holds it open.
class Arena {
public:
    explicit Arena(std::size_t size);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    class Access {
    public:
        explicit Access(Arena& arena) : arena_(arena) { arena_.open(); }
        Access(const Access&) = delete;
        Access& operator=(const Access&) = delete;
        ~Access() { arena_.close(); }

    private:
        Arena& arena_;
    };

    // Returns null if there is no room.
    std::uint8_t* allocate(std::size_t size, std::size_t alignment);
    void release(std::uint8_t* pointer);
    // Whether the bytes are within one allocation.
    bool holds(const void* pointer, std::size_t size) const;
    std::uint64_t used() const;
    std::uint64_t peak() const;
    std::uint64_t size() const { return size_; }

private:
    void open();
    void close();

    const std::size_t size_;
    std::uint8_t* const begin_;
    mutable std::mutex mutex_;
    std::map<std::size_t, std::size_t> taken_;  // offset to size
    std::size_t used_ = 0;
    std::size_t peak_ = 0;
    int users_ = 0;
};

class SimulatedManager final : public ManagerBase {
public:
    explicit SimulatedManager(std::shared_ptr<SimulatedDevice::Shared> shared) noexcept;

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int reset() noexcept override { return ENOTSUP; }

private:
    const std::shared_ptr<SimulatedDevice::Shared> shared_;
};

}  // namespace cleave
