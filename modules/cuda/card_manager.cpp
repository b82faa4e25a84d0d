#include "cuda/card_manager.h"

#include <cuda_runtime.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "cleave/memory.h"
#include "cuda/managers.h"
#include "rows/memory/completed_manager.h"
#include "rows/memory/manager_base.h"

namespace cleave::cuda {
namespace {

constexpr std::uint32_t kForwarded = CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED | CLEAVE_MEMORY_CAN_DEVICE |
                                     CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_CAN_SECRET |
                                     CLEAVE_MEMORY_IS_STREAM_ORDERED;

class CardManager final : public ManagerBase {
public:
    CardManager(const char* name, OwnedManager inner, std::shared_ptr<Streams> streams) noexcept
        : ManagerBase(name, inner->capabilities & kForwarded), streams_(std::move(streams)), inner_(std::move(inner)) {}
    ~CardManager() override { make_current(); }

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override {
        if (!make_current()) return EIO;
        return inner_->allocate(inner_->state, space, size, alignment, flags, stream, &memory);
    }
    // Even if the card is lost, this frees the host-side record of the memory.
    int release(const cleave_memory& memory, void* stream) noexcept override {
        make_current();
        return inner_->release(inner_->state, &memory, stream);
    }
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override {
        if (!make_current()) return EIO;
        return inner_->info(inner_->state, space, &free_size, &total_size);
    }
    int reset() noexcept override {
        make_current();
        return inner_->reset(inner_->state);
    }

private:
    bool make_current() const noexcept {
        if (cudaSetDevice(streams_->card()) == cudaSuccess) return true;
        cudaGetLastError();
        return false;
    }

    const std::shared_ptr<Streams> streams_;  // destroyed after the manager, which waits for the streams
    const OwnedManager inner_;
};

}  // namespace

const cleave_memory_manager& make_card_manager(const std::string& name, std::shared_ptr<Streams> streams) {
    std::vector<OwnedManager> managers;
    managers.push_back(OwnedManager(&make_manager("pinned-pool")));
    managers.push_back(OwnedManager(&make_manager(name)));
    const char* const shown = managers.back()->name;  // a string literal
    OwnedManager both(&(new CompletedManager(std::move(managers)))->face());
    return (new CardManager(shown, std::move(both), std::move(streams)))->face();
}

}  // namespace cleave::cuda
