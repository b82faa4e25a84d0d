// The inside of a DeviceStream, and events. Turns what a device returns into exceptions.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/device.h"
#include "offload/device.h"
#include "offload/pinned_blocks.h"

namespace cleave {

// Throws DeviceError unless the status is good. `doing` is what the device was asked to do: "copy to the device".
void check(const DeviceStatus& status, const char* doing);

// The first exception that a body threw, on whatever thread the device called it.
class BodyFailure {
public:
    void set(std::exception_ptr failure);
    // Rethrows it once, if there is one.
    void rethrow();

private:
    Mutex mutex_;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
};

struct DeviceStream::State {
    // Throws DeviceError.
    State(Device& used, std::shared_ptr<MemoryManager> manager, std::uint32_t flags_of_memory);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    Device& device;
    const std::shared_ptr<MemoryManager> memory;
    const std::uint32_t memory_flags;
    void* stream = nullptr;
    std::shared_ptr<BodyFailure> failure = std::make_shared<BodyFailure>();

    // Pages are copied from and to pinned memory. Copies work without it, more slowly.
    std::shared_ptr<PinnedBlocks> blocks;         // null if no pages are copied
    std::vector<std::shared_ptr<Memory>> pinned;  // that copies read since they were submitted
};

// Waits for a stream after its device ran out of memory. Throws what else has failed on it.
void settle(DeviceStream& stream);

// A place on a stream. Made when it is recorded first.
class DeviceEvent {
public:
    DeviceEvent() = default;
    DeviceEvent(DeviceEvent&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)), event_(std::exchange(other.event_, nullptr)) {}
    DeviceEvent& operator=(DeviceEvent&&) = delete;
    ~DeviceEvent();

    // These throw DeviceError. All but the first are for events that were recorded.
    void record(DeviceStream& stream);
    // The stream goes on when the event has happened.
    void hold(DeviceStream& stream) const;
    // The calling thread waits.
    void synchronize() const;
    double seconds_until(const DeviceEvent& later) const;

private:
    Device* device_ = nullptr;
    void* event_ = nullptr;
};

}  // namespace cleave
