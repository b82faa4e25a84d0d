// The parts of a context.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cleave/experimental/device_context.h"
#include "features/gpu/device.h"
#include "features/gpu/device_memory.h"
#include "features/gpu/device_stream.h"
#include "features/gpu/pinned_blocks.h"
#include "features/gpu/rates.h"

namespace cleave::offload {

class Core {
public:
    explicit Core(const ContextOptions& given);

    // Held while one thread uses the core; other threads wait. Throws LogicError if this thread is already using
    // it.
    class CLEAVE_SCOPED_LOCK Use {
    public:
        explicit Use(Core& core) CLEAVE_ACQUIRE(core.mutex);
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use() CLEAVE_RELEASE();

    private:
        Core& core_;
        MutexLock lock_;
    };

    // The stream for all work that is not paged. Throws DeviceError, or ArgumentError if there is no device.
    DeviceStream& stream() CLEAVE_REQUIRES(mutex);
    // Creates a stream for pages.
    DeviceStream make_page_stream() const;

    // The seconds that a transfer of `bytes` to `to` takes, from or to pinned or ordinary memory on the host. Returns
    // std::nullopt without a profile.
    std::optional<double> move_seconds(Side to, bool is_pinned, std::uint64_t bytes) const CLEAVE_REQUIRES(mutex);
    // Why the device is not considered; null if it is.
    const char* reason_for_host() const;

    const ContextOptions options;
    const ContextMemory memory;
    const std::shared_ptr<PinnedBlocks> blocks;  // for pages
    const Clock* const clock;
    Mutex mutex;
    std::uint64_t runs CLEAVE_GUARDED_BY(mutex) = 0;  // of which rates are measured
    Rates rates CLEAVE_GUARDED_BY(mutex);
    BodyRate ordinary_in CLEAVE_GUARDED_BY(mutex);  // of transfers from ordinary memory; the profile's is of small ones
    std::vector<NodeReport> report CLEAVE_GUARDED_BY(mutex);
    std::vector<std::string> remarks CLEAVE_GUARDED_BY(mutex);  // lines for explain() about the latest evaluation

private:
    Core& not_used_by_this_thread();

    std::atomic<std::thread::id> user_;
    std::unique_ptr<DeviceStream> stream_ CLEAVE_GUARDED_BY(mutex);
};

}  // namespace cleave::offload
