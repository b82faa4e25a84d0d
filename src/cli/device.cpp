#include "cli/device.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "cleave/device.h"
#include "cleave/machine_profile.h"
#include "cleave/memory.h"
#include "cleave/offload.h"
#include "cli/formatted.h"
#include "cli/messages.h"

namespace cleave::cli {
namespace {

// Without the subject that DeviceUnavailable begins with.
std::string reason_of(const DeviceUnavailable& unavailable) {
    constexpr std::string_view kSubject = "device: ";
    std::string reason = unavailable.what();
    if (reason.starts_with(kSubject)) reason.erase(0, kSubject.size());
    return reason;
}

constexpr const char* kNotMeasured = "this machine was not measured; cleave machine --calibrate does it";

void say_cpu(const Arguments& arguments, std::string_view reason) {
    if (!arguments.quiet) print_message(formatted("--device auto: the CPU applies all rules: {}", printable(reason)));
}

}  // namespace

void choose_device(Arguments& arguments) {
    if (arguments.device.empty()) return;
    const bool is_auto = arguments.device == "auto";
    ContextOptions options;
    try {
        options.device = open_device(is_auto ? "gpu" : arguments.device);
    } catch (const DeviceUnavailable& unavailable) {
        if (!is_auto) throw std::runtime_error(formatted("--device {}: {}", arguments.device, reason_of(unavailable)));
        return say_cpu(arguments, reason_of(unavailable));
    }
    options.profile = read_profile(profile_folder(), machine_identity(*options.device)).profile;
    if (is_auto && !options.profile) return say_cpu(arguments, kNotMeasured);
    options.memory = MemoryManager::or_default(arguments.execution.memory);
    options.policy = is_auto ? DevicePolicy::kAuto : DevicePolicy::kGpu;
    options.device_memory = arguments.device_memory;
    options.memory_flags = CLEAVE_MEMORY_SECRET;
    arguments.execution.offload = std::make_shared<cleave::Context>(options);
}

void explain(const Arguments& arguments) {
    if (!arguments.explain) return;
    std::string text = arguments.execution.offload ? arguments.execution.offload->explain() : "";
    if (text.empty()) text = "stage: the CPU\n";
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        print_message(printable(std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
    }
}

}  // namespace cleave::cli
