// Devices, as annotators of functions see them: where a value lies, a stream of work, and how a device is opened. A
// device is implemented by a module, a shared library that is loaded when the device is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "cleave/memory.h"

namespace cleave {

// Made by open_device().
class Device;

// Where a value lies, and where a function runs.
enum class Side : std::uint8_t { kHost, kDevice };

enum class DeviceFault : std::uint8_t {
    kNone,
    kOutOfMemory,
    kFailed,  // one call failed
    kLost,    // no call can succeed any more
};

// A call of a device failed.
class DeviceError : public std::runtime_error {
public:
    DeviceError(DeviceFault fault, const std::string& what) : std::runtime_error(what), fault_(fault) {}

    DeviceFault fault() const noexcept { return fault_; }

private:
    DeviceFault fault_;
};

// A device cannot be opened.
class DeviceUnavailable : public std::runtime_error {
public:
    // kTrust: somebody else could have written the module; doc/devices.md says what is trusted.
    enum class Missing : std::uint8_t { kModule, kDriver, kCard, kTrust };

    DeviceUnavailable(Missing missing, const std::string& what) : std::runtime_error(what), missing_(missing) {}

    Missing missing() const noexcept { return missing_; }

private:
    Missing missing_;
};

// Opens a device. `name` is "gpu", "gpu:N" for card N, or "/PATH[:CONFIG]" of a module; a path has no colon. Throws
// DeviceUnavailable, which says what is missing, and std::invalid_argument for
// another name. Nothing else in the library loads a module. A module stays loaded until the process ends.
std::shared_ptr<Device> open_device(const std::string& name);

// What a body does, for messages and for devices that are simulated.
struct DeviceWork {
    const char* name = "";
    std::uint64_t bytes = 0;  // that are read
};

// Work of a device, done in the order in which it is submitted. For one thread at a time. All members except the
// accessors throw DeviceError. What was submitted may still be running when a member returns, and so a fault of it may
// be thrown by a later member.
class DeviceStream {
public:
    struct State;
    explicit DeviceStream(std::unique_ptr<State> state);
    DeviceStream(DeviceStream&&) noexcept;
    // Waits for what was submitted.
    ~DeviceStream();

    // Memory of the device, for use on this stream.
    Memory allocate(std::size_t size, std::uint32_t flags = 0);
    // Memory of the host that copy_out() may write to. It is pinned while pages are worked on.
    Memory allocate_host(std::size_t size);
    // The same, at least `size` bytes; while pages are worked on, a later page gets the memory when the last pointer is
    // gone.
    std::shared_ptr<Memory> borrow_host(std::size_t size);

    // The source may be changed or released once copy_in() has returned only if the stream was synchronized; the
    // runtime keeps arguments of SplitType<T>::to() that long. While pages are worked on, a source that is not pinned
    // is copied to pinned memory first.
    void copy_in(void* to_device, const void* from_host, std::size_t size, bool is_pinned = false);
    // The bytes are there once the stream was synchronized.
    void copy_out(void* to_host, const void* from_device, std::size_t size);
    void copy_within(void* to_device, const void* from_device, std::size_t size);

    // Calls body(native()), which submits work to that stream, or, with a simulated device, does the work. It may touch
    // memory of the device only through such work. `body` must not refer to what ends before the stream is
    // synchronized, except memory that came from allocate().
    void run(const DeviceWork& work, std::function<void(void* stream)> body);

    // Waits until all that was submitted is done.
    void synchronize();

    void* native() const noexcept;  // a cudaStream_t, if that is what the device has
    Device& device() const noexcept;
    MemoryManager& memory() const noexcept;
    State& state() noexcept { return *state_; }

private:
    std::unique_ptr<State> state_;
};

}  // namespace cleave
