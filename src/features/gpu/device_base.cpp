#include "features/gpu/device_base.h"

#include <cstdint>

namespace cleave {
namespace {

DeviceBase& of(void* state) noexcept { return *static_cast<DeviceBase*>(state); }

}  // namespace

DeviceBase::DeviceBase(DeviceIdentity identity, const Clock* clock)
    : identity_(std::move(identity)), clock_(clock), face_{} {
    face_.interface_version = CLEAVE_DEVICE_VERSION;
    face_.struct_size = sizeof face_;
    face_.state = this;
    face_.name = identity_.name.c_str();
    face_.uuid = identity_.uuid.c_str();
    face_.memory_size = identity_.memory_size;
    face_.driver_version = identity_.driver_version.c_str();
    face_.runtime_version = identity_.runtime_version.c_str();
    face_.make_memory_manager = [](void* state) { return of(state).make_memory_manager(); };
    if (clock_ != nullptr) face_.seconds = [](void* state) { return of(state).clock_->seconds(); };
    face_.entry = [](void* state, const char* name) { return of(state).entry(name); };
    face_.create_stream = [](void* state, void** stream) { return of(state).create_stream(*stream).face(); };
    face_.destroy_stream = [](void* state, void* stream) { of(state).destroy_stream(stream); };
    face_.synchronize = [](void* state, void* stream) { return of(state).synchronize(stream).face(); };
    face_.query = [](void* state, void* stream, std::int32_t* is_done) {
        bool answer = false;
        const DeviceStatus status = of(state).query(stream, answer);
        *is_done = answer ? 1 : 0;
        return status.face();
    };
    face_.copy_in = [](void* state, void* to_device, const void* from_host, std::size_t size, void* stream) {
        return of(state).copy_in(to_device, from_host, size, stream).face();
    };
    face_.copy_out = [](void* state, void* to_host, const void* from_device, std::size_t size, void* stream) {
        return of(state).copy_out(to_host, from_device, size, stream).face();
    };
    face_.copy_within = [](void* state, void* to_device, const void* from_device, std::size_t size, void* stream) {
        return of(state).copy_within(to_device, from_device, size, stream).face();
    };
    face_.run = [](void* state, const cleave_device_work* work, void* stream) {
        return of(state).run({work->name, work->bytes}, DeviceBody(*work), stream).face();
    };
    face_.create_event = [](void* state, void** event) { return of(state).create_event(*event).face(); };
    face_.destroy_event = [](void* state, void* event) { of(state).destroy_event(event); };
    face_.record = [](void* state, void* event, void* stream) { return of(state).record(event, stream).face(); };
    face_.wait = [](void* state, void* stream, void* event) { return of(state).wait(stream, event).face(); };
    face_.synchronize_event = [](void* state, void* event) { return of(state).synchronize_event(event).face(); };
    face_.elapsed = [](void* state, void* from, void* to, double* seconds) {
        return of(state).elapsed(from, to, *seconds).face();
    };
    face_.close = [](void* state) { delete &of(state); };
}

}  // namespace cleave
