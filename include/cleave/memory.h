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

#include "cleave/memory_manager.h"

namespace cleave {

// Where memory is: see cleave_memory_space.
enum class MemorySpace : std::uint8_t {
    kHost = CLEAVE_MEMORY_HOST,
    kPinned = CLEAVE_MEMORY_PINNED,
    kMapped = CLEAVE_MEMORY_MAPPED,
    kDevice = CLEAVE_MEMORY_DEVICE,
};

// What is wanted of a manager.
struct MemoryRequest {
    std::size_t size = 0;  // bytes
    MemorySpace space = MemorySpace::kHost;
    std::size_t alignment = 0;  // a power of two; 0: 64 on the host, 256 on a device
    std::uint32_t flags = 0;    // CLEAVE_MEMORY_ZEROED and so on
    void* stream = nullptr;     // of a device
};

// A manager cannot be had: its library cannot be loaded, or the manager cannot be started.
class MemoryManagerError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The name of a manager is unknown, its settings are, its path is relative, or somebody else could have written its
// library: see doc/memory.md.
class MemoryManagerNameError : public MemoryManagerError {
public:
    using MemoryManagerError::MemoryManagerError;
};

// A manager gave no memory, or memory that is too small or misaligned. The text names the manager.
class MemoryError : public std::bad_alloc {
public:
    // `error` is what the manager returned for a request of `size` bytes.
    MemoryError(const std::string& manager, int error, std::size_t size);
    const char* what() const noexcept override { return text_->c_str(); }
    // What the manager returned. EPROTO: memory that is too small or misaligned.
    int error() const noexcept { return error_; }

private:
    std::shared_ptr<const std::string> text_;  // so that a copy throws nothing
    int error_;
};

class Memory;
class PoolManager;

struct DestroyManager {
    void operator()(const cleave_memory_manager* manager) const;
};

// Statistics of a manager "pool".
struct PoolStatistics {
    std::uint64_t regions = 0;      // that it holds
    std::uint64_t region_size = 0;  // bytes in them
    std::uint64_t used_size = 0;    // bytes of them that are given out
    std::uint64_t peak_size = 0;    // the highest value of used_size
    std::uint64_t requests = 0;     // that were served
};

// A manager in use. It is destroyed with the last pointer to it and the last memory that came from it. Any thread may
// use it.
class MemoryManager : public std::enable_shared_from_this<MemoryManager> {
public:
    // A new manager. `name` is NAME[:CONFIG] of one that is built in, or /PATH[:CONFIG] of a plugin; a path has no
    // colon. What it lacks is taken from a new manager "system", member by member. Throws MemoryManagerError
    // and MemoryManagerNameError.
    //
    //   system                     pages of the operating system; releases are gathered
    //   huge[:transparent]         the same, in huge pages where the system has them
    //   huge:explicit              in pages that the administrator has reserved (vm.nr_hugepages), or no memory
    //   pool[:SIZE]                parts of large regions of SIZE bytes [64M], K, M and G as usual
    static std::shared_ptr<MemoryManager> open(const std::string& name);

    // `manager`, or a new manager "system" if it is null.
    static std::shared_ptr<MemoryManager> or_default(std::shared_ptr<MemoryManager> manager);

    // Takes a manager of the program that uses the library, and destroys it. Completed as above. Throws
    // MemoryManagerError for another version.
    static std::shared_ptr<MemoryManager> adopt(const cleave_memory_manager& manager);

    MemoryManager(const MemoryManager&) = delete;
    MemoryManager& operator=(const MemoryManager&) = delete;
    ~MemoryManager();

    // For messages.
    std::string name() const;
    // The completed manager, for other libraries. Valid as long as this object.
    const cleave_memory_manager& manager() const { return *manager_; }

    // Throws MemoryError, and std::invalid_argument for a request with a fault.
    Memory allocate(const MemoryRequest& request);

    // Nothing if the manager is not the built-in "pool".
    std::optional<PoolStatistics> pool_statistics() const;

private:
    friend class Memory;
    MemoryManager(std::unique_ptr<const cleave_memory_manager, DestroyManager> completed, const PoolManager* pool);

    const std::unique_ptr<const cleave_memory_manager, DestroyManager> manager_;
    const PoolManager* pool_;  // nullptr, or a part of manager_
};

// Memory from a manager, owned. It is released with the object. Secret memory (CLEAVE_MEMORY_SECRET) is wiped then.
class Memory {
public:
    // No bytes, of no manager.
    Memory() = default;
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;
    ~Memory();

    // The first byte; an address of the device if the space is that.
    std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(memory_.pointer); }
    // Bytes, at least what was asked for. 0 without a manager.
    std::size_t size() const noexcept { return memory_.size; }
    const cleave_memory& memory() const noexcept { return memory_; }

    // The stream on which the memory is used last; release() gets it.
    void set_stream(void* stream) noexcept { stream_ = stream; }
    // Gives the memory back.
    void release() noexcept;

private:
    friend class MemoryManager;

    std::shared_ptr<MemoryManager> manager_;
    cleave_memory memory_{};
    void* stream_ = nullptr;
};

}  // namespace cleave
