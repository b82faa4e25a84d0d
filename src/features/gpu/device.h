// A device as the library sees it. The members follow the contract of the C interface in
// cleave/experimental/device_module.h. For the module's side, see device_base.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cleave/experimental/device.h"
#include "cleave/experimental/device_module.h"
#include "cleave/memory_manager.h"

namespace cleave {

// Seconds since some fixed moment.
class Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    virtual double seconds() const noexcept = 0;
};

// The result of a device call. Owns no memory.
class DeviceStatus {
public:
    DeviceStatus() = default;
    explicit DeviceStatus(const cleave_device_status& status) noexcept;
    // Truncates `text` if it is too long.
    DeviceStatus(DeviceFault fault, const char* text) noexcept;

    bool is_good() const noexcept { return status_.fault == CLEAVE_DEVICE_GOOD; }
    DeviceFault fault() const noexcept { return static_cast<DeviceFault>(status_.fault); }
    const char* text() const noexcept { return status_.text; }
    const cleave_device_status& face() const noexcept { return status_; }

private:
    cleave_device_status status_{};
};

struct DeviceIdentity {
    std::string name;
    std::string uuid;
    std::uint64_t memory_size = 0;  // bytes
    std::string driver_version;
    std::string runtime_version;
};

class Device {
public:
    // Owns the device, which must be complete: see check_device().
    explicit Device(const cleave_device& face);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device() { face_->close(face_->state); }

    const cleave_device& face() const noexcept { return *face_; }
    const DeviceIdentity& identity() const noexcept { return identity_; }
    // For MemoryManager::adopt().
    const cleave_memory_manager* make_memory_manager() noexcept { return face_->make_memory_manager(face_->state); }
    // Null if the device has no clock.
    const Clock* clock() const noexcept { return face_->seconds != nullptr ? &clock_ : nullptr; }
    const void* entry(const char* name) const noexcept;

    DeviceStatus create_stream(void*& stream) noexcept;
    void destroy_stream(void* stream) noexcept { face_->destroy_stream(face_->state, stream); }
    DeviceStatus synchronize(void* stream) noexcept;
    DeviceStatus query(void* stream, bool& is_done) noexcept;

    DeviceStatus copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept;
    DeviceStatus copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept;
    DeviceStatus copy_within(void* to_device, const void* from_device, std::size_t size, void* stream) noexcept;

    // `body` must not throw.
    DeviceStatus run(const DeviceWork& work, std::function<void(void* stream)> body, void* stream);

    DeviceStatus create_event(void*& event) noexcept;
    void destroy_event(void* event) noexcept { face_->destroy_event(face_->state, event); }
    DeviceStatus record(void* event, void* stream) noexcept;
    DeviceStatus wait(void* stream, void* event) noexcept;
    DeviceStatus synchronize_event(void* event) noexcept;
    DeviceStatus elapsed(void* from, void* to, double& seconds) noexcept;

private:
    class DeviceClock final : public Clock {
    public:
        explicit DeviceClock(const cleave_device& face) : face_(&face) {}
        double seconds() const noexcept override { return face_->seconds(face_->state); }

    private:
        const cleave_device* face_;
    };

    const cleave_device* face_;
    const DeviceIdentity identity_;
    const DeviceClock clock_;
};

// Says what is wrong with a module's device: it has a different version or is incomplete. Returns an empty string if
// nothing is wrong.
std::string check_device(const cleave_device& face);

// The device's own clock, or else the host's. `device` may be null.
const Clock& clock_of(const Device* device);

// Loads the first existing module of `paths` and opens a device. The module stays loaded until the process ends. Throws
// DeviceUnavailable.
std::shared_ptr<Device> open_module(const std::vector<std::string>& paths, const std::string& config);

}  // namespace cleave
