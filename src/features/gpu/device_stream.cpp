#include "features/gpu/device_stream.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "features/gpu/device_memory.h"

namespace cleave {
void check(const DeviceStatus& status, const char* doing) {
    if (status.is_good()) return;
    const char* const why = status.fault() == DeviceFault::kOutOfMemory ? "out of memory"
                            : status.fault() == DeviceFault::kLost      ? "the device is lost"
                                                                        : "the call failed";
    std::string text = std::string("device: ") + doing + ": " + why;
    if (status.text()[0] != 0) text += std::string(" (") + status.text() + ")";
    throw DeviceError(status.fault(), text);
}

void BodyFailure::set(std::exception_ptr failure) {
    const MutexLock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
}

void BodyFailure::rethrow() {
    std::exception_ptr failure;
    {
        const MutexLock lock(mutex_);
        failure = std::exchange(failure_, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
}

DeviceStream::State::State(Device& used, std::shared_ptr<MemoryManager> manager, std::uint32_t flags_of_memory)
    : device(used), memory(std::move(manager)), memory_flags(flags_of_memory) {
    check(device.create_stream(stream), "make a stream");
}

DeviceStream::State::~State() { device.destroy_stream(stream); }

DeviceStream::DeviceStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceStream::DeviceStream(DeviceStream&&) noexcept = default;
DeviceStream::~DeviceStream() = default;

void* DeviceStream::native() const noexcept { return state_->stream; }
Device& DeviceStream::device() const noexcept { return state_->device; }
MemoryManager& DeviceStream::memory() const noexcept { return *state_->memory; }

Memory DeviceStream::allocate(std::size_t size, std::uint32_t flags) {
    try {
        return state_->memory->allocate({size, MemorySpace::kDevice, 0, flags | state_->memory_flags, state_->stream});
    } catch (const MemoryError& error) {
        rethrow_if_broken(error);
        throw DeviceError(DeviceFault::kOutOfMemory, error.what());
    }
}

Memory DeviceStream::allocate_host(std::size_t size) {
    if (state_->blocks) {
        try {
            return state_->memory->allocate({size, MemorySpace::kPinned, 0, state_->memory_flags, nullptr});
        } catch (const MemoryError& error) {
            rethrow_if_broken(error);  // if the manager works, ordinary memory will do
        }
    }
    return state_->memory->allocate({size, MemorySpace::kHost, 0, state_->memory_flags, nullptr});
}

std::shared_ptr<Memory> DeviceStream::borrow_host(std::size_t size) {
    if (state_->blocks) {
        if (std::shared_ptr<Memory> block = state_->blocks->take(size)) return block;
    }
    return std::make_shared<Memory>(allocate_host(size));
}

void DeviceStream::copy_in(void* to_device, const void* from_host, std::size_t size, bool is_pinned) {
    if (size == 0) return;
    const void* source = from_host;
    if (state_->is_for_pages && !is_pinned) {
        state_->pinned.reserve(state_->pinned.size() + 1);
        if (std::shared_ptr<Memory> block = state_->blocks->take(size)) {
            source = std::memcpy(block->data(), from_host, size);
            state_->pinned.push_back(std::move(block));  // kept even if the copy fails, because it may have begun
        }
    }
    check(state_->device.copy_in(to_device, source, size, state_->stream), "copy to the device");
}

void DeviceStream::copy_out(void* to_host, const void* from_device, std::size_t size) {
    if (size == 0) return;
    check(state_->device.copy_out(to_host, from_device, size, state_->stream), "copy from the device");
}

void DeviceStream::copy_within(void* to_device, const void* from_device, std::size_t size) {
    if (size == 0) return;
    check(state_->device.copy_within(to_device, from_device, size, state_->stream), "copy on the device");
}

void DeviceStream::run(const DeviceWork& work, std::function<void(void* stream)> body) {
    const auto guarded = [failure = state_->failure, body = std::move(body)](void* stream) {
        try {
            body(stream);
        } catch (...) {  // rethrown in the thread that waits for the stream
            failure->set(std::current_exception());
        }
    };
    check(state_->device.run(work, guarded, state_->stream), "run a body");
}

void DeviceStream::synchronize() {
    check(state_->device.synchronize(state_->stream), "wait for a stream");
    state_->failure->rethrow();
}

void settle(DeviceStream& stream) {
    check(stream.device().synchronize(stream.native()), "wait for a stream");
    try {
        stream.state().failure->rethrow();
    } catch (const DeviceError& error) {
        if (error.fault() != DeviceFault::kOutOfMemory) throw;
    }
}

DeviceEvent::~DeviceEvent() {
    if (event_ != nullptr) device_->destroy_event(event_);
}

void DeviceEvent::record(DeviceStream& stream) {
    if (event_ == nullptr) {
        check(stream.device().create_event(event_), "make an event");
        device_ = &stream.device();
    }
    check(device_->record(event_, stream.native()), "record an event");
}

void DeviceEvent::hold(DeviceStream& stream) const {
    check(device_->wait(stream.native(), event_), "let a stream wait");
}

void DeviceEvent::synchronize() const { check(device_->synchronize_event(event_), "wait for an event"); }

double DeviceEvent::seconds_until(const DeviceEvent& later) const {
    double seconds = 0;
    check(device_->elapsed(event_, later.event_, seconds), "measure a time");
    return seconds;
}

}  // namespace cleave
