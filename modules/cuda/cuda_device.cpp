#include "cuda/cuda_device.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <tuple>
#include <utility>

#include "cuda/card_manager.h"
#include "cuda/error.h"
#include "cuda/status.h"
#include "features/gpu/lane/device_stage.h"

namespace cleave::cuda {
namespace {

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// 13000 gives "13.0".
std::string version_text(int version) {
    return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string uuid_text(const cudaUUID_t& uuid) {
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        constexpr const char* kDigits = "0123456789abcdef";
        const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
        text += kDigits[byte / 16];
        text += kDigits[byte % 16];
    }
    return text;
}

DeviceIdentity identity_of(int card) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, card), "cudaGetDeviceProperties");
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    DeviceIdentity identity;
    identity.name = properties.name;
    identity.uuid = uuid_text(properties.uuid);
    identity.memory_size = properties.totalGlobalMem;
    identity.driver_version = version_text(driver);
    identity.runtime_version = version_text(runtime);
    return identity;
}

}  // namespace

CudaDevice::CudaDevice(int card, std::string manager)
    : DeviceBase(identity_of(card), nullptr), streams_(std::make_shared<Streams>(card)), manager_(std::move(manager)) {
    check(cudaSetDevice(card), "cudaSetDevice");
    const cleave_memory_manager& tried = make_card_manager(manager_, streams_);
    tried.destroy(tried.state);
}

const CudaDevice& CudaDevice::of(const cleave_device& face) noexcept {
    return static_cast<const CudaDevice&>(
        *static_cast<const DeviceBase*>(face.state));  // NOLINT(*-downcast): see above
}

const cleave_memory_manager* CudaDevice::make_memory_manager() noexcept {
    try {
        return &make_card_manager(manager_, streams_);
    } catch (const std::exception&) {  // the name is known to be valid, so memory has run out
        return nullptr;
    }
}

const void* CudaDevice::entry(const char* name) const noexcept {
    return std::strcmp(name, kDeviceStageEntry) == 0 ? &kStageEntry : nullptr;
}

DeviceStatus CudaDevice::status_of(const char* what, cudaError_t error) noexcept {
    const DeviceFault fault = fault_of(error);
    if (fault == DeviceFault::kNone) return {};
    if (fault == DeviceFault::kLost) is_lost_ = true;
    std::array<char, 160> text{};
    std::ignore = std::snprintf(text.data(), text.size(), "%s: %s", what, cudaGetErrorString(error));
    return {fault, text.data()};
}

template <class F>
DeviceStatus CudaDevice::call(const char* what, F function) noexcept {
    if (is_lost_) return {DeviceFault::kLost, "an earlier call found it lost"};
    const cudaError_t error = cudaSetDevice(card());
    if (error != cudaSuccess) return status_of("cudaSetDevice", error);
    return status_of(what, function());
}

DeviceStatus CudaDevice::create_stream(void*& stream) noexcept {
    return call("cudaStreamCreateWithFlags", [&] {
        cudaStream_t made = nullptr;
        const cudaError_t error = streams_->take(made);
        if (error == cudaSuccess) stream = made;
        return error;
    });
}

void CudaDevice::destroy_stream(void* stream) noexcept {
    if (stream == nullptr) return;
    synchronize(stream);
    streams_->put_back(stream_of(stream));
}

DeviceStatus CudaDevice::synchronize(void* stream) noexcept {
    return call("cudaStreamSynchronize", [&] { return cudaStreamSynchronize(stream_of(stream)); });
}

DeviceStatus CudaDevice::query(void* stream, bool& is_done) noexcept {
    return call("cudaStreamQuery", [&] {
        const cudaError_t error = cudaStreamQuery(stream_of(stream));
        is_done = error == cudaSuccess;
        if (error != cudaErrorNotReady) return error;
        cudaGetLastError();
        return cudaSuccess;
    });
}

DeviceStatus CudaDevice::copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept {
    return call("cudaMemcpyAsync",
                [&] { return cudaMemcpyAsync(to_device, from_host, size, cudaMemcpyHostToDevice, stream_of(stream)); });
}

DeviceStatus CudaDevice::copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept {
    return call("cudaMemcpyAsync",
                [&] { return cudaMemcpyAsync(to_host, from_device, size, cudaMemcpyDeviceToHost, stream_of(stream)); });
}

DeviceStatus CudaDevice::copy_within(void* to_device, const void* from_device, std::size_t size,
                                     void* stream) noexcept {
    return call("cudaMemcpyAsync", [&] {
        return cudaMemcpyAsync(to_device, from_device, size, cudaMemcpyDeviceToDevice, stream_of(stream));
    });
}

DeviceStatus CudaDevice::run(const DeviceWork& work, DeviceBody body, void* stream) noexcept {
    return call(work.name, [&] {
        body(stream);
        return cudaGetLastError();
    });
}

DeviceStatus CudaDevice::create_event(void*& event) noexcept {
    return call("cudaEventCreate", [&] {
        cudaEvent_t made = nullptr;
        const cudaError_t error = cudaEventCreate(&made);
        if (error == cudaSuccess) event = made;
        return error;
    });
}

void CudaDevice::destroy_event(void* event) noexcept {
    if (event == nullptr) return;
    // Done even if the card is lost, to free the host-side part of the event.
    cudaSetDevice(card());
    cudaEventDestroy(event_of(event));
    cudaGetLastError();
}

DeviceStatus CudaDevice::record(void* event, void* stream) noexcept {
    return call("cudaEventRecord", [&] { return cudaEventRecord(event_of(event), stream_of(stream)); });
}

DeviceStatus CudaDevice::wait(void* stream, void* event) noexcept {
    return call("cudaStreamWaitEvent", [&] { return cudaStreamWaitEvent(stream_of(stream), event_of(event), 0); });
}

DeviceStatus CudaDevice::synchronize_event(void* event) noexcept {
    return call("cudaEventSynchronize", [&] { return cudaEventSynchronize(event_of(event)); });
}

DeviceStatus CudaDevice::elapsed(void* from, void* to, double& seconds) noexcept {
    return call("cudaEventElapsedTime", [&] {
        float milliseconds = 0;
        const cudaError_t error = cudaEventElapsedTime(&milliseconds, event_of(from), event_of(to));
        seconds = static_cast<double>(milliseconds) / 1000;
        return error;
    });
}

}  // namespace cleave::cuda
