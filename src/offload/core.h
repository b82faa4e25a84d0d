// What a context consists of.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "cleave/device_context.h"
#include "offload/device.h"
#include "offload/device_memory.h"
#include "offload/device_stream.h"
#include "offload/pinned_blocks.h"
#include "offload/rates.h"

namespace cleave::offload {

class Core {
public:
    explicit Core(const ContextOptions& given);

    // What one thread does with the core; others wait. Throws std::logic_error if this thread has begun already.
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

    // The stream of all work that is not paged. Throws DeviceError; std::invalid_argument if there is no device.
    DeviceStream& stream() CLEAVE_REQUIRES(mutex);
    // A new stream for pages.
    DeviceStream make_page_stream() const;

    // Seconds of a move from or to memory of the host that is pinned or not; nothing without a profile.
    std::optional<double> move_seconds(Side to, bool is_pinned, std::uint64_t bytes) const;
    // Why the device is not to be considered; null if it is.
    const char* reason_for_host() const;

    const ContextOptions options;
    const ContextMemory memory;
    const std::shared_ptr<PinnedBlocks> blocks;  // for pages
    const Clock* const clock;
    Mutex mutex;
    Rates rates CLEAVE_GUARDED_BY(mutex);
    std::vector<NodeReport> report CLEAVE_GUARDED_BY(mutex);
    std::vector<std::string> remarks CLEAVE_GUARDED_BY(mutex);  // of the last evaluation: lines for explain()

private:
    Core& not_used_by_this_thread();

    std::atomic<std::thread::id> user_;
    std::unique_ptr<DeviceStream> stream_ CLEAVE_GUARDED_BY(mutex);
};

}  // namespace cleave::offload
