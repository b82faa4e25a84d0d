// What a device implements: a module such as the one for CUDA, or a simulated device of the tests. A module is compiled
// by the same compiler from the same version of this file; kDeviceModuleVersion makes sure of that. No exception
// crosses the interface: a module may have a C++ runtime of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "cleave/device.h"
#include "cleave/memory_manager.h"
#include "cleave/version.h"

namespace cleave {

// Seconds since any moment that stays the same.
class Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    virtual double seconds() const noexcept = 0;
};

// What a call of a device returns. It owns no memory.
class DeviceStatus {
public:
    DeviceStatus() = default;
    // Keeps the beginning of a long text.
    DeviceStatus(DeviceFault fault, const char* text) noexcept : fault_(fault) {
        std::strncpy(text_.data(), text, text_.size() - 1);
    }

    bool is_good() const noexcept { return fault_ == DeviceFault::kNone; }
    DeviceFault fault() const noexcept { return fault_; }
    const char* text() const noexcept { return text_.data(); }

private:
    DeviceFault fault_ = DeviceFault::kNone;
    std::array<char, 192> text_{};
};

struct DeviceIdentity {
    std::string name;
    std::string uuid;               // the same for as long as the card is the same
    std::uint64_t memory_size = 0;  // bytes
    std::string driver_version;
    std::string runtime_version;
};

// Any thread may call any member; a stream and an event are used by one thread at a time. Streams and events belong to
// the device that made them, and are destroyed before it. Work on a stream is done in order; a member that submits work
// may return before the work is done, and a fault of the work may be returned by any later member. After kLost all
// members return kLost.
class Device {
public:
    Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    virtual ~Device() = default;

    virtual const DeviceIdentity& identity() const noexcept = 0;

    // A new manager of the spaces device, pinned and mapped, for MemoryManager::adopt(). It and its memory may live
    // longer than this object. Null if there is not enough memory.
    virtual const cleave_memory_manager* make_memory_manager() noexcept = 0;

    // The time that the device keeps; null for the time of the host. It lives as long as this object.
    virtual const Clock* clock() const noexcept { return nullptr; }

    // An entry point of the module, for annotated bodies that are compiled into it; null if it has none of the name.
    virtual void* entry(const char* /*name*/) const noexcept { return nullptr; }

    virtual DeviceStatus create_stream(void*& stream) noexcept = 0;
    // Waits for the work of the stream.
    virtual void destroy_stream(void* stream) noexcept = 0;
    virtual DeviceStatus synchronize(void* stream) noexcept = 0;
    virtual DeviceStatus query(void* stream, bool& is_done) noexcept = 0;

    // Submit a copy of `size` bytes. Host memory may be pinned or not; if it is not, the call may return late.
    virtual DeviceStatus copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept = 0;
    virtual DeviceStatus copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept = 0;
    virtual DeviceStatus copy_within(void* to_device, const void* from_device, std::size_t size,
                                     void* stream) noexcept = 0;

    // Makes the device current and calls body(stream), now or when the stream comes to it. `body` does not throw.
    virtual DeviceStatus run(const DeviceWork& work, const std::function<void(void* stream)>& body,
                             void* stream) noexcept = 0;

    virtual DeviceStatus create_event(void*& event) noexcept = 0;
    virtual void destroy_event(void* event) noexcept = 0;
    // The event happens when the stream comes to this place.
    virtual DeviceStatus record(void* event, void* stream) noexcept = 0;
    // The stream goes on when the event, as it was recorded last, has happened.
    virtual DeviceStatus wait(void* stream, void* event) noexcept = 0;
    // The calling thread waits for the event.
    virtual DeviceStatus synchronize_event(void* event) noexcept = 0;
    // From one event to a later one. Both have happened.
    virtual DeviceStatus elapsed(void* from, void* to, double& seconds) noexcept = 0;
};

// A module exports these two functions. Change the number at the front with this file.
#define CLEAVE_DEVICE_MODULE_VERSION "1 cleave " CLEAVE_VERSION " gcc " __VERSION__
inline constexpr const char* kDeviceModuleVersion = CLEAVE_DEVICE_MODULE_VERSION;

// Why a module cannot open a device.
enum class DeviceOpening : std::uint8_t { kOpened, kNoDriver, kNoCard, kFailed };

// Returns CLEAVE_DEVICE_MODULE_VERSION.
using DeviceModuleVersionFunction = const char* (*)();
inline constexpr const char* kDeviceModuleVersionSymbol = "cleave_device_module_version";

// Sets *device to a new device, to be deleted, or writes the reason, one line, into the `message_size` bytes at
// `message`. `config` is a number of a card, or what the user wrote after the module's path and a colon.
using DeviceModuleOpenFunction = DeviceOpening (*)(const char* config, Device** device, char* message,
                                                   std::size_t message_size);
inline constexpr const char* kDeviceModuleOpenSymbol = "cleave_device_module_open";

}  // namespace cleave
