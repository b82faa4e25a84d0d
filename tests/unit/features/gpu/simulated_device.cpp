#include "simulated_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "simulated_shared.h"

namespace cleave {
namespace {

SimulatedStream& stream_of(void* stream) { return *static_cast<SimulatedStream*>(stream); }
SimulatedEvent& event_of(void* event) { return *static_cast<SimulatedEvent*>(event); }

// What a module exports under a name.
constexpr int kAnswer = 42;

}  // namespace

SimulatedStream::SimulatedStream() : thread_([this] { work(); }) {}

SimulatedStream::~SimulatedStream() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void SimulatedStream::submit(std::function<void()> task) {
    {
        const std::scoped_lock lock(mutex_);
        tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
}

void SimulatedStream::wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty() && !is_busy_; });
}

bool SimulatedStream::is_idle() {
    const std::scoped_lock lock(mutex_);
    return tasks_.empty() && !is_busy_;
}

void SimulatedStream::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return is_ending_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        std::function<void()> task = std::move(tasks_.front());
        tasks_.pop_front();
        is_busy_ = true;
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
        is_busy_ = false;
        changed_.notify_all();
    }
}

void Occurrence::happen() {
    {
        const std::scoped_lock lock(mutex);
        has_happened = true;
    }
    happened.notify_all();
}

void Occurrence::wait() {
    std::unique_lock lock(mutex);
    happened.wait(lock, [this] { return has_happened; });
}

SimulatedDevice::Shared::Shared(const SimulatedOptions& given) : options(given), arena(given.memory_size) {}

DeviceStatus SimulatedDevice::Shared::begin_call() noexcept {
    const std::uint64_t number = calls.fetch_add(1) + 1;
    if (is_lost.load()) return {DeviceFault::kLost, "simulated"};
    if (number != failing_call.load()) return {};
    if (fault.load() == DeviceFault::kLost) is_lost.store(true);
    return {fault.load(), "simulated"};
}

void SimulatedDevice::Shared::submit(SimulatedStream& stream, double seconds, double* link,
                                     std::function<void()> task) {
    {
        const std::scoped_lock lock(mutex);
        double start = std::max(stream.time, clock.seconds());
        if (link != nullptr) start = std::max(start, *link);
        stream.time = start + seconds;
        if (link != nullptr) *link = stream.time;
    }
    stream.submit(std::move(task));
}

double SimulatedDevice::Shared::copy_seconds(const Rate& pinned_rate, const std::optional<Rate>& ordinary,
                                             const void* host, std::size_t size) {
    const std::scoped_lock lock(mutex);
    const auto after = pinned_blocks.upper_bound(host);
    const bool is_pinned = after != pinned_blocks.begin() &&
                           static_cast<const std::uint8_t*>(host) + size <=
                               static_cast<const std::uint8_t*>(std::prev(after)->first) + std::prev(after)->second;
    return (is_pinned ? pinned_rate : ordinary.value_or(pinned_rate)).seconds(static_cast<double>(size));
}

void SimulatedDevice::Shared::wait_for(void* stream) {
    if (stream == nullptr) return;
    const std::scoped_lock lock(mutex);
    if (!streams.contains(stream)) std::abort();  // the stream was destroyed before its memory
    stream_of(stream).wait_until_idle();
}

SimulatedCard::SimulatedCard(std::shared_ptr<SimulatedDevice::Shared> shared)
    : DeviceBase(
          {"simulated", shared->options.uuid, shared->options.memory_size, shared->options.driver_version, "1.0"},
          &shared->clock),
      shared_(std::move(shared)) {}

SimulatedDevice::SimulatedDevice(const SimulatedOptions& options)
    : SimulatedDevice(std::make_shared<Shared>(options)) {}
SimulatedDevice::SimulatedDevice(const std::shared_ptr<Shared>& shared)
    : Device((new SimulatedCard(shared))->face()), shared_(shared) {}
const cleave_device& SimulatedDevice::make_face(const SimulatedOptions& options) {
    return (new SimulatedCard(std::make_shared<Shared>(options)))->face();
}
SimulatedDevice::~SimulatedDevice() {
    if (streams_alive() != 0 || events_alive() != 0) std::abort();
}

void SimulatedDevice::fail_call(std::uint64_t number, DeviceFault fault) noexcept {
    shared_->fault.store(fault);
    shared_->failing_call.store(number);
}

std::uint64_t SimulatedDevice::calls() const noexcept { return shared_->calls.load(); }
std::uint64_t SimulatedDevice::allocations_alive() const noexcept { return shared_->allocations.load(); }
std::uint64_t SimulatedDevice::device_bytes_alive() const noexcept { return shared_->arena.used(); }
std::uint64_t SimulatedDevice::device_bytes_peak() const noexcept { return shared_->arena.peak(); }
std::uint64_t SimulatedDevice::pinned_allocations() const noexcept { return shared_->pinned_allocations.load(); }
std::uint64_t SimulatedDevice::events_alive() const noexcept { return shared_->events.load(); }
std::uint64_t SimulatedDevice::streams_alive() const noexcept {
    const std::scoped_lock lock(shared_->mutex);
    return shared_->streams.size();
}
VirtualClock& SimulatedDevice::virtual_clock() noexcept { return shared_->clock; }

const void* SimulatedCard::entry(const char* name) const noexcept {
    const auto named = shared_->options.entries.find(name);
    if (named != shared_->options.entries.end()) return named->second;
    return std::string_view(name) == "answer" ? &kAnswer : nullptr;
}

const cleave_memory_manager* SimulatedCard::make_memory_manager() noexcept {
    if (!shared_->begin_call().is_good()) return nullptr;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory the test ends
    return &(new SimulatedManager(shared_))->face();
}

DeviceStatus SimulatedCard::create_stream(void*& stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    stream = new SimulatedStream();  // NOLINT(bugprone-unhandled-exception-at-new): the test ends
    const std::scoped_lock lock(shared_->mutex);
    shared_->streams.insert(stream);
    return {};
}

void SimulatedCard::destroy_stream(void* stream) noexcept {
    {
        const std::scoped_lock lock(shared_->mutex);
        shared_->streams.erase(stream);
    }
    delete static_cast<SimulatedStream*>(stream);
}

DeviceStatus SimulatedCard::synchronize(void* stream) noexcept {
    const DeviceStatus status = shared_->begin_call();
    stream_of(stream).wait_until_idle();  // a failure is reported when the work is done
    shared_->clock.advance_to(stream_of(stream).time);
    return status;
}

DeviceStatus SimulatedCard::query(void* stream, bool& is_done) noexcept {
    is_done = stream_of(stream).is_idle();
    return shared_->begin_call();
}

DeviceStatus SimulatedCard::copy_in(void* to_device, const void* from_host, std::size_t size, void* stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    if (!shared_->arena.holds(to_device, size)) std::abort();
    const SimulatedOptions& options = shared_->options;
    const double seconds = shared_->copy_seconds(options.in, options.ordinary_in, from_host, size);
    shared_->submit(stream_of(stream), seconds, &shared_->in_link, [=, shared = shared_.get()] {
        const Arena::Access access(shared->arena);
        std::memcpy(to_device, from_host, size);
    });
    return {};
}

DeviceStatus SimulatedCard::copy_out(void* to_host, const void* from_device, std::size_t size, void* stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    if (!shared_->arena.holds(from_device, size)) std::abort();
    const SimulatedOptions& options = shared_->options;
    const double seconds = shared_->copy_seconds(options.out, options.ordinary_out, to_host, size);
    shared_->submit(stream_of(stream), seconds, &shared_->out_link, [=, shared = shared_.get()] {
        const Arena::Access access(shared->arena);
        std::memcpy(to_host, from_device, size);
    });
    return {};
}

DeviceStatus SimulatedCard::copy_within(void* to_device, const void* from_device, std::size_t size,
                                        void* stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    if (!shared_->arena.holds(to_device, size) || !shared_->arena.holds(from_device, size)) std::abort();
    shared_->submit(stream_of(stream), shared_->options.launch, nullptr, [=, shared = shared_.get()] {
        const Arena::Access access(shared->arena);
        std::memmove(to_device, from_device, size);
    });
    return {};
}

DeviceStatus SimulatedCard::run(const DeviceWork& work, DeviceBody body, void* stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    const auto named = shared_->options.bodies.find(work.name);
    const Rate& rate = named != shared_->options.bodies.end() ? named->second : shared_->options.body;
    const double seconds = shared_->options.launch + rate.seconds(static_cast<double>(work.bytes));
    auto kept = std::make_shared<DeviceBody>(std::move(body));
    shared_->submit(stream_of(stream), seconds, nullptr, [kept = std::move(kept), stream, shared = shared_.get()] {
        const Arena::Access access(shared->arena);
        (*kept)(stream);
    });
    return {};
}

DeviceStatus SimulatedCard::create_event(void*& event) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    event = new SimulatedEvent();  // NOLINT(bugprone-unhandled-exception-at-new): the test ends
    shared_->events.fetch_add(1);
    return {};
}

void SimulatedCard::destroy_event(void* event) noexcept {
    delete static_cast<SimulatedEvent*>(event);
    shared_->events.fetch_sub(1);
}

DeviceStatus SimulatedCard::record(void* event, void* stream) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    auto occurrence = std::make_shared<Occurrence>();
    event_of(event).last = occurrence;
    shared_->submit(stream_of(stream), 0, nullptr, [occurrence] { occurrence->happen(); });
    occurrence->time = stream_of(stream).time;
    return {};
}

DeviceStatus SimulatedCard::wait(void* stream, void* event) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    const std::shared_ptr<Occurrence> occurrence = event_of(event).last;
    stream_of(stream).time = std::max(stream_of(stream).time, occurrence->time);
    shared_->submit(stream_of(stream), 0, nullptr, [occurrence] { occurrence->wait(); });
    return {};
}

DeviceStatus SimulatedCard::synchronize_event(void* event) noexcept {
    const DeviceStatus status = shared_->begin_call();
    event_of(event).last->wait();
    shared_->clock.advance_to(event_of(event).last->time);
    return status;
}

DeviceStatus SimulatedCard::elapsed(void* from, void* to, double& seconds) noexcept {
    if (const DeviceStatus status = shared_->begin_call(); !status.is_good()) return status;
    seconds = event_of(to).last->time - event_of(from).last->time;
    return {};
}

}  // namespace cleave
