// A card as a device for the runtime of cleave/experimental/offload.h.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <memory>
#include <string>

#include "cuda/streams.h"
#include "features/gpu/device_base.h"
#include "features/gpu/lane/device_stage.h"

namespace cleave::cuda {

class CudaDevice final : public DeviceBase {
public:
    // Card number `card`, which must exist. `manager` is a name for make_manager(). Throws CudaError and
    // MemoryManagerError.
    CudaDevice(int card, std::string manager);
    // The device behind a face, which must be the face of a CudaDevice.
    static const CudaDevice& of(const cleave_device& face) noexcept;

    int card() const noexcept { return streams_->card(); }

    const cleave_memory_manager* make_memory_manager() noexcept override;
    const void* entry(const char* name) const noexcept override;

    DeviceStatus create_stream(void*& stream) noexcept override;
    void destroy_stream(void* stream) noexcept override;
    DeviceStatus synchronize(void* stream) noexcept override;
    DeviceStatus query(void* stream, bool& is_done) noexcept override;

    DeviceStatus copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept override;
    DeviceStatus copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept override;
    DeviceStatus copy_within(void* to_device, const void* from_device, std::size_t size,
                             void* stream) noexcept override;

    // Calls the body immediately. Detects failed launches that the body did not check, if it uses this module's CUDA.
    DeviceStatus run(const DeviceWork& work, DeviceBody body, void* stream) noexcept override;

    DeviceStatus create_event(void*& event) noexcept override;
    void destroy_event(void* event) noexcept override;
    DeviceStatus record(void* event, void* stream) noexcept override;
    DeviceStatus wait(void* stream, void* event) noexcept override;
    DeviceStatus synchronize_event(void* event) noexcept override;
    DeviceStatus elapsed(void* from, void* to, double& seconds) noexcept override;

private:
    // Makes the card current and calls `function`, unless the card is lost. `what` is the name of the CUDA call.
    template <class F>
    DeviceStatus call(const char* what, F function) noexcept;
    DeviceStatus status_of(const char* what, cudaError_t error) noexcept;

    const std::shared_ptr<Streams> streams_;
    const std::string manager_;
    std::atomic<bool> is_lost_{false};
};

// In stage_entry.cpp: what the library runs a stage on a card with.
extern const DeviceStageEntry kStageEntry;

}  // namespace cleave::cuda
