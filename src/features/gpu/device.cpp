#include "features/gpu/device.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "base/module.h"

namespace cleave {
namespace {

class HostClock final : public Clock {
public:
    double seconds() const noexcept override {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
};

}  // namespace

static_assert(static_cast<cleave_device_fault>(DeviceFault::kNone) == CLEAVE_DEVICE_GOOD);
static_assert(static_cast<cleave_device_fault>(DeviceFault::kOutOfMemory) == CLEAVE_DEVICE_OUT_OF_MEMORY);
static_assert(static_cast<cleave_device_fault>(DeviceFault::kFailed) == CLEAVE_DEVICE_FAILED);
static_assert(static_cast<cleave_device_fault>(DeviceFault::kLost) == CLEAVE_DEVICE_LOST);

// A module may set an unknown fault, or leave the text unterminated.
DeviceStatus::DeviceStatus(const cleave_device_status& status) noexcept : status_(status) {
    if (status_.fault > CLEAVE_DEVICE_LOST) status_.fault = CLEAVE_DEVICE_FAILED;
    status_.text[sizeof status_.text - 1] = 0;
}

DeviceStatus::DeviceStatus(DeviceFault fault, const char* text) noexcept {
    status_.fault = static_cast<cleave_device_fault>(fault);
    std::strncpy(status_.text, text, sizeof status_.text - 1);
}

Device::Device(const cleave_device& face)
    : face_(&face),
      identity_{face.name, face.uuid, face.memory_size, face.driver_version, face.runtime_version},
      clock_(face) {}

const void* Device::entry(const char* name) const noexcept {
    return face_->entry != nullptr ? face_->entry(face_->state, name) : nullptr;
}

DeviceStatus Device::create_stream(void*& stream) noexcept {
    return DeviceStatus(face_->create_stream(face_->state, &stream));
}

DeviceStatus Device::synchronize(void* stream) noexcept {
    return DeviceStatus(face_->synchronize(face_->state, stream));
}

DeviceStatus Device::query(void* stream, bool& is_done) noexcept {
    std::int32_t answer = 0;
    const DeviceStatus status(face_->query(face_->state, stream, &answer));
    is_done = answer != 0;
    return status;
}

DeviceStatus Device::copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept {
    return DeviceStatus(face_->copy_in(face_->state, to_device, from_host, size, stream));
}

DeviceStatus Device::copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept {
    return DeviceStatus(face_->copy_out(face_->state, to_host, from_device, size, stream));
}

DeviceStatus Device::copy_within(void* to_device, const void* from_device, std::size_t size, void* stream) noexcept {
    return DeviceStatus(face_->copy_within(face_->state, to_device, from_device, size, stream));
}

DeviceStatus Device::run(const DeviceWork& work, std::function<void(void* stream)> body, void* stream) {
    using Body = std::function<void(void* stream)>;
    auto owned = std::make_unique<Body>(std::move(body));
    cleave_device_work submitted{};
    submitted.name = work.name;
    submitted.bytes = work.bytes;
    submitted.object = owned.release();
    submitted.run = [](void* object, void* on) { (*static_cast<const Body*>(object))(on); };
    submitted.release = [](void* object) { delete static_cast<const Body*>(object); };
    return DeviceStatus(face_->run(face_->state, &submitted, stream));
}

DeviceStatus Device::create_event(void*& event) noexcept {
    return DeviceStatus(face_->create_event(face_->state, &event));
}

DeviceStatus Device::record(void* event, void* stream) noexcept {
    return DeviceStatus(face_->record(face_->state, event, stream));
}

DeviceStatus Device::wait(void* stream, void* event) noexcept {
    return DeviceStatus(face_->wait(face_->state, stream, event));
}

DeviceStatus Device::synchronize_event(void* event) noexcept {
    return DeviceStatus(face_->synchronize_event(face_->state, event));
}

DeviceStatus Device::elapsed(void* from, void* to, double& seconds) noexcept {
    return DeviceStatus(face_->elapsed(face_->state, from, to, &seconds));
}

std::string check_device(const cleave_device& face) {
    std::string fault = table_fault(&face, CLEAVE_DEVICE_VERSION, sizeof face, "cleave_device");
    if (!fault.empty()) return fault;
    const auto are_there = [](auto... members) { return ((members != nullptr) && ...); };
    const bool is_whole =
        are_there(face.name, face.uuid, face.driver_version, face.runtime_version, face.make_memory_manager,
                  face.create_stream, face.destroy_stream, face.synchronize, face.query, face.copy_in, face.copy_out,
                  face.copy_within, face.run, face.create_event, face.destroy_event, face.record, face.wait,
                  face.synchronize_event, face.elapsed, face.close);
    return is_whole ? "" : "it lacks a member that every device has";
}

const Clock& clock_of(const Device* device) {
    static const HostClock kHost;
    const Clock* const own = device != nullptr ? device->clock() : nullptr;
    return own != nullptr ? *own : kHost;
}

}  // namespace cleave
