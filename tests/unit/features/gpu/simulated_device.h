// A device made of threads, host memory and a virtual clock.
//
// Its memory is mapped, but may be touched only while one of the device's bodies or copies runs; a read at any other
// time kills the process. Each stream is a thread with a queue. Freed memory is filled with kPoison. No call sleeps:
// all times are computed from the options when the work is submitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cleave/experimental/machine_profile.h"
#include "features/gpu/device.h"

namespace cleave {

constexpr std::uint8_t kPoison = 0xDB;

class VirtualClock final : public Clock {
public:
    double seconds() const noexcept override { return now_.load(); }
    void advance(double seconds) { now_.store(now_.load() + seconds); }
    void advance_to(double moment) {
        if (moment > now_.load()) now_.store(moment);
    }

private:
    std::atomic<double> now_{0};  // moved by one thread at a time
};

struct SimulatedOptions {
    std::uint64_t memory_size = std::uint64_t{1} << 20;
    std::uint64_t pinned_size = std::uint64_t{1} << 30;
    Rate in{1e-5, 1e-10};
    Rate out{1e-5, 1e-10};
    std::optional<Rate> ordinary_in;  // from memory that is not pinned; the same as `in` if unset
    std::optional<Rate> ordinary_out;
    double launch = 1e-5;
    Rate body{0, 1e-12};                         // for bodies not named below
    std::map<std::string, Rate> bodies;          // by DeviceWork::name
    std::map<std::string, const void*> entries;  // by the name passed to Device::entry()
    std::string uuid = "simulated-0";
    std::string driver_version = "1.0";
};

class SimulatedDevice final : public Device {
public:
    explicit SimulatedDevice(const SimulatedOptions& options = {});
    ~SimulatedDevice();

    // Creates a device, for Device or for a module.
    static const cleave_device& make_face(const SimulatedOptions& options);

    // Makes call `number`, counted from 1, fail; allocations of its manager count too. After kLost all calls fail.
    void fail_call(std::uint64_t number, DeviceFault fault) noexcept;
    std::uint64_t calls() const noexcept;

    std::uint64_t allocations_alive() const noexcept;
    std::uint64_t device_bytes_alive() const noexcept;
    std::uint64_t device_bytes_peak() const noexcept;
    std::uint64_t pinned_allocations() const noexcept;  // since the start
    std::uint64_t streams_alive() const noexcept;
    std::uint64_t events_alive() const noexcept;
    VirtualClock& virtual_clock() noexcept;

    struct Shared;

private:
    explicit SimulatedDevice(const std::shared_ptr<Shared>& shared);

    const std::shared_ptr<Shared> shared_;  // shared with the managers, which may live longer
};

}  // namespace cleave
