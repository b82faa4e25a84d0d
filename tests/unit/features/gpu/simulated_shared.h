// The state that a simulated device shares with its managers, and the device behind its C interface.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "features/gpu/device_base.h"
#include "simulated_memory.h"

namespace cleave {

// A thread with a queue.
class SimulatedStream {
public:
    SimulatedStream();
    SimulatedStream(const SimulatedStream&) = delete;
    SimulatedStream& operator=(const SimulatedStream&) = delete;
    ~SimulatedStream();

    void submit(std::function<void()> task);
    void wait_until_idle();
    bool is_idle();

    double time = 0;  // virtual time when all submitted work is done; for the submitting thread only

private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool is_busy_ = false;
    bool is_ending_ = false;
    std::thread thread_;
};

// One recording of an event.
struct Occurrence {
    std::mutex mutex;
    std::condition_variable happened;
    bool has_happened = false;
    double time = 0;  // in virtual seconds

    void happen();
    void wait();
};

struct SimulatedEvent {
    std::shared_ptr<Occurrence> last;
};

struct SimulatedDevice::Shared {
    explicit Shared(const SimulatedOptions& given);

    // Counts a call, and returns what the call must return.
    DeviceStatus begin_call() noexcept;
    // Submits work that takes this many virtual seconds. A `link` that is not null carries one transfer at a time.
    void submit(SimulatedStream& stream, double seconds, double* link, std::function<void()> task);
    // The time of a copy from or to host memory.
    double copy_seconds(const Rate& pinned, const std::optional<Rate>& ordinary, const void* host, std::size_t size);
    // Waits for the stream if it still exists.
    void wait_for(void* stream);

    const SimulatedOptions options;
    VirtualClock clock;
    Arena arena;
    std::atomic<std::uint64_t> calls{0};
    std::atomic<std::uint64_t> failing_call{0};
    std::atomic<DeviceFault> fault{DeviceFault::kNone};
    std::atomic<bool> is_lost{false};
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> pinned{0};  // bytes
    std::atomic<std::uint64_t> pinned_allocations{0};
    std::atomic<std::uint64_t> events{0};
    std::mutex mutex;  // guards the members below
    std::set<void*> streams;
    std::map<const void*, std::size_t> pinned_blocks;  // by start address
    double in_link = 0;
    double out_link = 0;
};

class SimulatedCard final : public DeviceBase {
public:
    explicit SimulatedCard(std::shared_ptr<SimulatedDevice::Shared> shared);

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
    DeviceStatus run(const DeviceWork& work, DeviceBody body, void* stream) noexcept override;
    DeviceStatus create_event(void*& event) noexcept override;
    void destroy_event(void* event) noexcept override;
    DeviceStatus record(void* event, void* stream) noexcept override;
    DeviceStatus wait(void* stream, void* event) noexcept override;
    DeviceStatus synchronize_event(void* event) noexcept override;
    DeviceStatus elapsed(void* from, void* to, double& seconds) noexcept override;

private:
    const std::shared_ptr<SimulatedDevice::Shared> shared_;
};

}  // namespace cleave
