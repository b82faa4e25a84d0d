// The base of devices written in C++. The virtual functions are the members of cleave_device, which documents their
// contract. For modules and test devices; the library itself uses features/gpu/device.h.
#pragma once

#include <cstddef>
#include <utility>

#include "cleave/experimental/device_module.h"
#include "features/gpu/device.h"

namespace cleave {

// Host work that is called at most once.
class DeviceBody {
public:
    explicit DeviceBody(const cleave_device_work& work) noexcept : work_(work) {}
    DeviceBody(DeviceBody&& other) noexcept : work_(std::exchange(other.work_, {})) {}
    DeviceBody& operator=(DeviceBody&&) = delete;
    ~DeviceBody() {
        if (work_.release != nullptr) work_.release(work_.object);
    }

    void operator()(void* stream) const noexcept { work_.run(work_.object, stream); }

private:
    cleave_device_work work_;
};

class DeviceBase {
public:
    DeviceBase(const DeviceBase&) = delete;
    DeviceBase& operator=(const DeviceBase&) = delete;
    virtual ~DeviceBase() = default;

    // The device in the form of the C interface. Its close() deletes this object, which must have been created with
    // `new`.
    const cleave_device& face() const noexcept { return face_; }

    virtual const cleave_memory_manager* make_memory_manager() noexcept = 0;
    virtual const void* entry(const char* /*name*/) const noexcept { return nullptr; }

    virtual DeviceStatus create_stream(void*& stream) noexcept = 0;
    virtual void destroy_stream(void* stream) noexcept = 0;
    virtual DeviceStatus synchronize(void* stream) noexcept = 0;
    virtual DeviceStatus query(void* stream, bool& is_done) noexcept = 0;
    virtual DeviceStatus copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept = 0;
    virtual DeviceStatus copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept = 0;
    virtual DeviceStatus copy_within(void* to_device, const void* from_device, std::size_t size,
                                     void* stream) noexcept = 0;
    virtual DeviceStatus run(const DeviceWork& work, DeviceBody body, void* stream) noexcept = 0;
    virtual DeviceStatus create_event(void*& event) noexcept = 0;
    virtual void destroy_event(void* event) noexcept = 0;
    virtual DeviceStatus record(void* event, void* stream) noexcept = 0;
    virtual DeviceStatus wait(void* stream, void* event) noexcept = 0;
    virtual DeviceStatus synchronize_event(void* event) noexcept = 0;
    virtual DeviceStatus elapsed(void* from, void* to, double& seconds) noexcept = 0;

protected:
    // `clock` is null if the device has no clock; otherwise, it must outlive the device.
    DeviceBase(DeviceIdentity identity, const Clock* clock);

private:
    const DeviceIdentity identity_;
    const Clock* const clock_;
    cleave_device face_;
};

}  // namespace cleave
