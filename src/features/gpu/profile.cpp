// Measures a machine and a device.
//
// A rate has two parts, which are found with copies of two sizes: `fixed` is the time of a very small copy, and
// `per_byte` is what each further byte of a large copy adds. Each time is the lowest of several, because disturbances
// can only add to it. Both the number of tries and the time of each kind of measurement are bounded.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <system_error>

#include "cleave/experimental/machine_profile.h"
#include "core/reader/fd.h"
#include "features/gpu/device.h"
#include "features/gpu/device_memory.h"
#include "features/gpu/device_stream.h"

namespace cleave {
namespace {

constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = std::size_t{16} << 20;
constexpr int kTries = 20;
constexpr double kMostSeconds = 0.15;  // for each of the eleven measurements

// The shortest time of several calls.
double least_seconds(const Clock& clock, const std::function<void()>& work) {
    double least = std::numeric_limits<double>::infinity();
    const double begin = clock.seconds();
    work();  // warms up
    for (int i = 0; i < kTries; ++i) {
        const double start = clock.seconds();
        work();
        const double end = clock.seconds();
        least = std::min(least, end - start);
        if (end - begin > kMostSeconds) break;
    }
    return least;
}

Rate measure_rate(const Clock& clock, std::size_t large, const std::function<void(std::size_t size)>& work) {
    const double small_seconds = least_seconds(clock, [&] { work(kSmall); });
    const double large_seconds = least_seconds(clock, [&] { work(large); });
    const double per_byte = std::max(0.0, large_seconds - small_seconds) / static_cast<double>(large - kSmall);
    return {small_seconds, per_byte};
}

}  // namespace

// "model name" on x86; "CPU part" on ARM, where the number identifies the model.
std::string processor_model() {
    const std::string path = "/proc/cpuinfo";
    std::string text;
    try {
        const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        text = read_to_end(fd.get(), std::size_t{2} << 10,
                           path);         // the first core is enough, and the system takes time to list each one
    } catch (const std::system_error&) {  // the model is unknown
    }
    for (const std::string key : {"model name", "CPU part"}) {
        const std::size_t line = text.find("\n" + key);
        if (line == std::string::npos) continue;
        const std::size_t colon = text.find(": ", line);
        const std::size_t end = text.find('\n', line + 1);
        if (colon < end && end != std::string::npos) return text.substr(colon + 2, end - colon - 2);
    }
    return "unknown";
}

MachineIdentity machine_identity(Device& device) {
    const DeviceIdentity& identity = device.identity();
    return {processor_model(), identity.uuid, identity.driver_version};
}

MachineProfile measure_machine(Device& device, const std::shared_ptr<MemoryManager>& memory) {
    MachineProfile profile;
    profile.identity = machine_identity(device);
    const Clock& clock = clock_of(&device);

    // The device belongs to the caller and must not be destroyed with the manager.
    const std::shared_ptr<Device> borrowed(std::shared_ptr<Device>(), &device);
    const ContextMemory managers = make_context_memory(borrowed, memory, 0);
    const std::uint64_t available = managers.device->available();
    const auto large = static_cast<std::size_t>(std::clamp<std::uint64_t>(available / 4, 2 * kSmall, kLarge));
    DeviceStream stream(std::make_unique<DeviceStream::State>(device, managers.manager, 0));
    const Memory there = stream.allocate(large);
    const Memory pinned = managers.manager->allocate({large, MemorySpace::kPinned});
    const Memory plain = managers.manager->allocate({large, MemorySpace::kHost});
    std::memset(pinned.data(), 1, large);
    std::memset(plain.data(), 1, large);

    profile.in = measure_rate(clock, large, [&](std::size_t size) {
        stream.copy_in(there.data(), pinned.data(), size);
        stream.synchronize();
    });
    profile.out = measure_rate(clock, large, [&](std::size_t size) {
        stream.copy_out(pinned.data(), there.data(), size);
        stream.synchronize();
    });
    profile.ordinary_in = measure_rate(clock, large, [&](std::size_t size) {
        stream.copy_in(there.data(), plain.data(), size);
        stream.synchronize();
    });
    // A value that comes back gets new memory, whose pages the system must first create.
    profile.ordinary_out = measure_rate(clock, large, [&](std::size_t size) {
        const Memory made = managers.manager->allocate({size, MemorySpace::kHost});
        stream.copy_out(made.data(), there.data(), size);
        stream.synchronize();
    });
    profile.launch = least_seconds(clock, [&] {
        stream.run({"nothing", 0}, [](void* /*stream*/) {});
        stream.synchronize();
    });
    profile.host_copy =
        measure_rate(clock, large, [&](std::size_t size) { std::memcpy(plain.data(), pinned.data(), size); });
    return profile;
}

}  // namespace cleave
