// Devices, for annotators of functions: where a value is, a stream of work, and how to open a device. A device is
// implemented by a module, a shared library that is loaded on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "cleave/error.h"
#include "cleave/memory.h"

namespace cleave {

// Made by open_device().
class Device;

// Where a value is, and where a function runs.
enum class Side : std::uint8_t { kHost, kDevice };

enum class DeviceFault : std::uint8_t {
    kNone,
    kOutOfMemory,
    kFailed,  // one call failed
    kLost,    // no call can succeed any more
};

// A call to a device failed.
class DeviceError : public ErrorOf<std::runtime_error> {
public:
    DeviceError(DeviceFault fault, const std::string& what) : ErrorOf(what), fault_(fault) {}

    DeviceFault fault() const noexcept { return fault_; }

private:
    DeviceFault fault_;
};

// A device cannot be opened.
class DeviceUnavailable : public ErrorOf<std::runtime_error> {
public:
    // kTrust: another user could have written the module; doc/guide/devices.md says what is trusted.
    enum class Missing : std::uint8_t { kModule, kDriver, kCard, kTrust };

    DeviceUnavailable(Missing missing, const std::string& what) : ErrorOf(what), missing_(missing) {}

    Missing missing() const noexcept { return missing_; }

private:
    Missing missing_;
};

// Opens a device. `name` is "gpu", "gpu:N" for card N, or "/PATH[:CONFIG]" for a module; the path must not contain a
// colon. Throws DeviceUnavailable, which says what is missing, and ArgumentError for any other name. Nothing
// else in the library loads a module. A module stays loaded until the process ends.
std::shared_ptr<Device> open_device(const std::string& name);

// What a body does, for messages and for simulated devices.
struct DeviceWork {
    const char* name = "";
    std::uint64_t bytes = 0;  // read by the body
};

// Work for a device, done in the order in which it is submitted. For use by one thread at a time. All members except
// the accessors throw DeviceError. Submitted work may still be running when a member returns; if that work fails, a
// later member throws.
class DeviceStream {
public:
    struct State;
    explicit DeviceStream(std::unique_ptr<State> state);
    DeviceStream(DeviceStream&&) noexcept;
    // Waits for all submitted work.
    ~DeviceStream();

    // Device memory, for use on this stream.
    Memory allocate(std::size_t size, std::uint32_t flags = 0);
    // Host memory that copy_out() may write to. It is pinned if the device can pin memory.
    Memory allocate_host(std::size_t size);
    // At least `size` bytes of host memory, as if from allocate_host(). The context uses it again once the last pointer
    // to it is gone.
    std::shared_ptr<Memory> borrow_host(std::size_t size);

    // Do not change or release the source until the stream has been synchronised; the runtime keeps arguments of
    // SplitType<T>::to() that long. While pages are being processed, a source that is not pinned is first copied to
    // pinned memory.
    void copy_in(void* to_device, const void* from_host, std::size_t size, bool is_pinned = false);
    // The bytes are valid once the stream has been synchronised.
    void copy_out(void* to_host, const void* from_device, std::size_t size);
    void copy_within(void* to_device, const void* from_device, std::size_t size);

    // Calls body(native()), which submits work to that stream or, on a simulated device, does the work itself. The body
    // may touch device memory only through such work. It must not refer to anything that is destroyed before the stream
    // is synchronised, except memory from allocate().
    void run(const DeviceWork& work, std::function<void(void* stream)> body);

    // Waits for all submitted work.
    void synchronize();

    void* native() const noexcept;  // a cudaStream_t, if the device has such streams
    Device& device() const noexcept;
    MemoryManager& memory() const noexcept;
    State& state() noexcept { return *state_; }

private:
    std::unique_ptr<State> state_;
};

}  // namespace cleave
