// The internals of DeviceStream, and events. Turns the results of device calls into exceptions.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "cleave/experimental/device.h"
#include "features/gpu/device.h"
#include "features/gpu/pinned_blocks.h"

namespace cleave {

// Throws DeviceError if the status is not good. `doing` is what the device was asked to do, such as "copy to the
// device".
void check(const DeviceStatus& status, const char* doing);

// The first exception that a body threw, on whichever thread the device called it.
class BodyFailure {
public:
    void set(std::exception_ptr failure);
    // Rethrows the exception, once, if there is one.
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

    // Copies to the host go to pinned memory. Without it they still work, but more slowly.
    std::shared_ptr<PinnedBlocks> blocks;  // may be null
    bool is_for_pages = false;             // copies to the device also go through pinned memory
    std::vector<std::shared_ptr<Memory>>
        pinned;  // memory read by the copies that were submitted since this was last emptied
};

// Waits for a stream whose device has run out of memory. Throws any other failure of the stream.
void settle(DeviceStream& stream);

// A point in a stream's work, created when it is first recorded.
class DeviceEvent {
public:
    DeviceEvent() = default;
    DeviceEvent(DeviceEvent&& other) noexcept
        : device_(std::exchange(other.device_, nullptr)), event_(std::exchange(other.event_, nullptr)) {}
    DeviceEvent& operator=(DeviceEvent&&) = delete;
    ~DeviceEvent();

    // These throw DeviceError. All but record() need an event that has been recorded.
    void record(DeviceStream& stream);
    // Makes the stream wait until the event has happened.
    void hold(DeviceStream& stream) const;
    // Makes the calling thread wait.
    void synchronize() const;
    double seconds_until(const DeviceEvent& later) const;

private:
    Device* device_ = nullptr;
    void* event_ = nullptr;
};

}  // namespace cleave
