// Memory managers for C++: where the buffers of stages, pages and devices come from. cleave/memory_manager.h is the
// interface that a manager implements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "cleave/error.h"
#include "cleave/memory_manager.h"

namespace cleave {

// Where memory is: see cleave_memory_space.
enum class MemorySpace : std::uint8_t {
    kHost = CLEAVE_MEMORY_HOST,
    kPinned = CLEAVE_MEMORY_PINNED,
    kMapped = CLEAVE_MEMORY_MAPPED,
    kDevice = CLEAVE_MEMORY_DEVICE,
};

// A request to a manager.
struct MemoryRequest {
    std::size_t size = 0;  // bytes
    MemorySpace space = MemorySpace::kHost;
    std::size_t alignment = 0;  // a power of two; 0: 64 on the host, 256 on a device
    std::uint32_t flags = 0;    // CLEAVE_MEMORY_ZEROED and so on
    void* stream = nullptr;     // the device stream that will use the memory
};

// A manager is unavailable: its library cannot be loaded, or the manager cannot be started.
class MemoryManagerError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// The manager's name or its settings are unknown, its path is relative, or another user could have written its library:
// see doc/guide/memory.md.
class MemoryManagerNameError : public MemoryManagerError {
public:
    using MemoryManagerError::MemoryManagerError;
};

// A manager returned no memory, or memory that is too small or misaligned. The message names the manager.
class MemoryError : public ErrorOf<std::bad_alloc> {
public:
    // `error` is what the manager returned for a request of `size` bytes.
    MemoryError(const std::string& manager, int error, std::size_t size);
    const char* what() const noexcept override { return text_->c_str(); }
    // What the manager returned. EPROTO if it returned memory that is too small or misaligned.
    int error() const noexcept { return error_; }

private:
    std::shared_ptr<const std::string> text_;  // so that copying does not throw
    int error_;
};

class Memory;
class PoolManager;

struct DestroyManager {
    void operator()(const cleave_memory_manager* manager) const;
};

// Statistics of a "pool" manager.
struct PoolStatistics {
    std::uint64_t regions = 0;      // held
    std::uint64_t region_size = 0;  // bytes in them
    std::uint64_t used_size = 0;    // bytes of them in use
    std::uint64_t peak_size = 0;    // the highest value of used_size
    std::uint64_t requests = 0;     // served
};

// A manager in use. It is destroyed once the last pointer to it and the last memory from it are gone. Any thread may
// use it.
class MemoryManager : public std::enable_shared_from_this<MemoryManager> {
public:
    // Creates a new manager. `name` is NAME[:CONFIG] for a built-in one, or /PATH[:CONFIG] for a plugin; the path must
    // not contain a colon. Members that it lacks are taken from a new "system" manager, one by one. Throws
    // MemoryManagerError and MemoryManagerNameError.
    //
    //   system                     pages from the operating system; releases are batched
    //   huge[:transparent]         the same, in huge pages where the system has them
    //   huge:explicit              in pages that the administrator has reserved (vm.nr_hugepages), or no memory
    //   pool[:SIZE]                parts of large SIZE-byte regions [64M]; SIZE may end in K, M or G
    static std::shared_ptr<MemoryManager> open(const std::string& name);

    // `manager`, or a new "system" manager if it is null.
    static std::shared_ptr<MemoryManager> or_default(std::shared_ptr<MemoryManager> manager);

    // Takes over a manager that belongs to the calling program, and destroys it in the end. Members that it lacks are
    // taken from a "system" manager, as for open(). Throws MemoryManagerError if it implements a different version of
    // the interface.
    static std::shared_ptr<MemoryManager> adopt(const cleave_memory_manager& manager);

    MemoryManager(const MemoryManager&) = delete;
    MemoryManager& operator=(const MemoryManager&) = delete;
    ~MemoryManager();

    // For messages.
    std::string name() const;
    // The completed manager, for other libraries. Valid for as long as this object exists.
    const cleave_memory_manager& manager() const { return *manager_; }

    // Throws MemoryError, and ArgumentError for an invalid request.
    Memory allocate(const MemoryRequest& request);

    // Not set unless this is the built-in "pool" manager.
    std::optional<PoolStatistics> pool_statistics() const;

private:
    friend class Memory;
    MemoryManager(std::unique_ptr<const cleave_memory_manager, DestroyManager> completed, const PoolManager* pool);

    const std::unique_ptr<const cleave_memory_manager, DestroyManager> manager_;
    const PoolManager* pool_;  // nullptr, or a part of manager_
};

// Memory from a manager, released with this object. Secret memory (CLEAVE_MEMORY_SECRET) is wiped on release.
class Memory {
public:
    // No bytes, and no manager.
    Memory() = default;
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    // The first byte; an address on the device if the space is kDevice.
    std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(memory_.pointer); }
    // Bytes, at least as many as requested. 0 without a manager.
    std::size_t size() const noexcept { return memory_.size; }
    const cleave_memory& memory() const noexcept { return memory_; }

    // Sets the stream that uses the memory last, which is passed to the manager's release().
    void set_stream(void* stream) noexcept { stream_ = stream; }
    // Returns the memory to its manager.
    void release() noexcept;

private:
    friend class MemoryManager;

    std::shared_ptr<MemoryManager> manager_;
    cleave_memory memory_{};
    void* stream_ = nullptr;
};

}  // namespace cleave
