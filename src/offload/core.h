// What a context consists of. `mutex` guards all that changes.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "cleave/offload.h"
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
    class Use {
    public:
        explicit Use(Core& core);
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use();

    private:
        Core& core_;
        std::unique_lock<std::mutex> lock_;
    };

    // The stream of all work that is not paged. Throws DeviceError; std::invalid_argument if there is no device.
    DeviceStream& stream();
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
    std::mutex mutex;
    Rates rates;
    std::vector<NodeReport> report;
    std::vector<std::string> remarks;  // of the last evaluation: lines for explain()

private:
    std::atomic<std::thread::id> user_;
    std::unique_ptr<DeviceStream> stream_;
};

}  // namespace cleave::offload
