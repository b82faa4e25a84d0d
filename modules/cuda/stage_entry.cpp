// Adapts DeviceStage, which throws exceptions and takes memory from a manager, to the plain structs of
// features/gpu/lane/device_stage.h.
#include <cuda_runtime.h>

#include <cerrno>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "cuda/cuda_device.h"
#include "cuda/device.h"
#include "cuda/stage.h"
#include "cuda/status.h"
#include "rows/memory/manager_base.h"

namespace cleave::cuda {
namespace {

// A manager for memory that belongs to the caller of the entry, who releases it.
class CallersManager final : public ManagerBase {
public:
    CallersManager() noexcept : ManagerBase("caller", CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_IS_STREAM_ORDERED) {}

    void set_source(const DeviceStageMemory& source) noexcept { source_ = source; }

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                 void* /*stream*/, cleave_memory& memory) noexcept override {
        if (const int error = check_request(space, alignment, flags); error != 0) return error;
        if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
        void* const pointer = size > 0 ? source_.allocate(source_.owner, size, flags) : nullptr;
        if (size > 0 && pointer == nullptr) return ENOMEM;
        memory = {pointer, size, nullptr};
        return 0;
    }
    int release(const cleave_memory& /*memory*/, void* /*stream*/) noexcept override { return 0; }
    int reset() noexcept override { return 0; }

private:
    DeviceStageMemory source_{};
};

cleave_device_status make_status(DeviceFault fault, const char* text) noexcept {
    return DeviceStatus(fault, text).face();
}

// The status for the exception that is being handled.
cleave_device_status status_of_exception() noexcept {
    try {
        throw;
    } catch (const CudaError& error) {
        return make_status(fault_of(error.code()), error.what());
    } catch (const MemoryError& error) {
        return make_status(DeviceFault::kOutOfMemory, error.what());
    } catch (const std::exception& error) {
        return make_status(DeviceFault::kFailed, error.what());
    }
}

DeviceStageResult odd_page() {
    DeviceStageResult result{};
    result.needs_cpu = true;
    return result;
}

}  // namespace
}  // namespace cleave::cuda

namespace cleave {

struct DeviceStageState {
    DeviceStageState(int its_card, const DeviceStageProgram& program, cuda::CallersManager& callers)
        : card(its_card),
          manager(callers),
          device(MemoryManager::adopt(callers.face())),
          stage(device, program.markup, std::span(program.bytes, program.size)) {}

    const int card;
    cuda::CallersManager& manager;  // a part of `device`
    cuda::Device device;
    cuda::DeviceStage stage;
    std::vector<std::uint64_t> counters;
};

}  // namespace cleave

namespace cleave::cuda {
namespace {

cleave_device_status open_stage(const cleave_device* device, const DeviceStageProgram* program,
                                DeviceStageState** state) noexcept {
    try {
        const int card = CudaDevice::of(*device).card();  // this entry comes from a CudaDevice
        check(cudaSetDevice(card), "cudaSetDevice");
        CallersManager& manager = *new CallersManager;  // adopted by the state
        *state = new DeviceStageState(card, *program, manager);
        return {};
    } catch (const std::exception&) {
        return status_of_exception();
    }
}

cleave_device_status run_stage(DeviceStageState* state, const DeviceStagePage* page, const DeviceStageMemory* memory,
                               DeviceStageResult* result) noexcept {
    auto* const stream = static_cast<cudaStream_t>(page->stream);
    try {
        check(cudaSetDevice(state->card), "cudaSetDevice");
        if (reinterpret_cast<std::uintptr_t>(page->bytes) % 16 != 0) {
            return make_status(DeviceFault::kFailed, "a page that does not begin at a multiple of 16");
        }
        if (page->size > kMaxPageSize) {
            *result = odd_page();
            return {};
        }
        state->manager.set_source(*memory);
        state->device.set_stream(stream);
        const std::optional<RewrittenPage> staged = state->stage.run(page->bytes, page->size);
        if (!staged) {
            *result = odd_page();
            return {};
        }
        state->counters = staged->counters;
        const StringsView records = staged->records.view();
        *result = {false,
                   records.size > 0 ? records.bytes : nullptr,
                   static_cast<std::uint64_t>(records.size),
                   reinterpret_cast<const std::uint32_t*>(records.offsets),
                   static_cast<std::uint64_t>(records.rows),
                   state->counters.data(),
                   state->counters.size()};
        return {};
    } catch (const ColumnTooLarge&) {
        cudaStreamSynchronize(stream);
        *result = odd_page();
        return {};
    } catch (const std::exception&) {
        const cleave_device_status status = status_of_exception();
        cudaStreamSynchronize(stream);  // submitted work uses the caller's memory
        cudaGetLastError();
        return status;
    }
}

void close_stage(DeviceStageState* state) noexcept {
    if (state == nullptr) return;
    cudaSetDevice(state->card);
    delete state;
    cudaGetLastError();
}

}  // namespace

const DeviceStageEntry kStageEntry{&open_stage, &run_stage, &close_stage};

}  // namespace cleave::cuda
