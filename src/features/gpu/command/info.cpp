// cleave info: describes the processor, the device, and what was measured on them.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "cleave/experimental/device.h"
#include "cleave/experimental/device_context.h"
#include "cleave/experimental/machine_profile.h"
#include "cleave/memory.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/verbs.h"
#include "core/reader/page_cache.h"
#include "features/gpu/device.h"
#include "features/gpu/explain.h"
#include "features/gpu/lane/measure_stage.h"

namespace cleave::cli {
namespace {

using offload::text_of_bytes;
using offload::text_of_seconds;

std::string name_of_device(const Arguments& arguments) { return arguments.device.empty() ? "gpu" : arguments.device; }

// Returns nullptr and sets the reason if the user named no device and there is none. Throws if a device that was named,
// or that must be measured, is missing.
std::shared_ptr<Device> open_wanted_device(const Arguments& arguments, std::string& reason) {
    if (!arguments.device.empty() || arguments.calibrates) return open_device(name_of_device(arguments));
    try {
        return open_device("gpu");
    } catch (const DeviceUnavailable& unavailable) {
        constexpr std::string_view kSubject = "device: ";
        reason = unavailable.what();
        if (reason.starts_with(kSubject)) reason.erase(0, kSubject.size());
        return nullptr;
    }
}

// Opens the device and uses it in a separate process, which then ends. The first opening after the machine starts reads
// the driver from disk and wakes the card, so it takes two to three times as long as later ones, and the profile is for
// later runs. Errors are ignored here, because the opening that is measured hits them again.
void warm_up(const std::string& name, unsigned threads) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            ContextOptions options;
            options.device = open_device(name);
            options.policy = DevicePolicy::kGpu;
            run_stage(std::make_shared<DeviceContext>(options), threads);
        } catch (const std::exception&) {  // see above
        }
        ::_exit(0);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

constexpr const char* kNoFolder =
    "there is no folder for the profile: neither XDG_CACHE_HOME nor HOME is an absolute path";

// Keeps the rates of functions that were measured earlier.
void calibrate(const std::shared_ptr<Device>& device, double open_seconds, unsigned threads,
               const std::string& folder) {
    if (folder.empty()) throw std::runtime_error(kNoFolder);
    MachineProfile profile = measure_machine(*device, MemoryManager::open("system"));
    ContextOptions options;
    options.device = device;
    options.policy = DevicePolicy::kGpu;
    const MeasuredStage stage = measure_stage(std::make_shared<DeviceContext>(options), threads);
    profile.open = open_seconds + stage.start_seconds;
    profile.stage = stage.seconds_per_byte;
    ReadProfile before = read_profile(folder, profile.identity);
    if (before.profile) profile.functions = std::move(before.profile->functions);
    write_profile(folder, profile);
}

class Printer {
public:
    explicit Printer(StandardOutput& out) : out_(out) {}

    void line(std::string_view name, std::string_view text) {
        out_.print("{:<18} {}\n", printable(name), printable(text));
    }

private:
    StandardOutput& out_;
};

// Such as "12.5 GB/s, 10.0 us to start".
std::string text_of(const Rate& rate) {
    const std::string start = text_of_seconds(rate.fixed);
    if (rate.per_byte <= 0) return start + " to begin with";
    return formatted("{:.3g} GB/s, {} to start", 1e-9 / rate.per_byte, start);
}

std::string text_of(const FunctionRates& rates) {
    std::string text;
    if (rates.host) text += "host " + text_of(*rates.host);
    if (rates.device) text += (text.empty() ? "device " : "; device ") + text_of(*rates.device);
    return text;
}

void print_processor(const Arguments& arguments, Printer& printer) {
    printer.line("processor", processor_model());
    printer.line("cores", formatted("{}", arguments.execution.thread_count()));
    const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
    const auto page_size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    printer.line("memory",
                 formatted("{}, {} available", text_of_bytes(pages * page_size), text_of_bytes(available_memory())));
}

void print_device(const Device& device, Printer& printer) {
    const DeviceIdentity& identity = device.identity();
    printer.line("device", identity.name);
    printer.line("device memory", text_of_bytes(identity.memory_size));
    printer.line("device id", identity.uuid);
    printer.line("driver, runtime", identity.driver_version + ", " + identity.runtime_version);
}

void print_profile(const MachineProfile& profile, Printer& printer) {
    printer.line("to open it", text_of_seconds(profile.open));
    if (profile.stage > 0) printer.line("rules", formatted("{:.3g} GB/s, transfers included", 1e-9 / profile.stage));
    printer.line("to the device", text_of(profile.in));
    printer.line("from the device", text_of(profile.out));
    printer.line("to it, unpinned", text_of(profile.ordinary_in));
    printer.line("from it, unpinned", text_of(profile.ordinary_out));
    printer.line("start of a body", text_of_seconds(profile.launch));
    printer.line("copy in memory", text_of(profile.host_copy));
    for (const auto& [name, rates] : profile.functions) printer.line("function " + name, text_of(rates));
}

}  // namespace

void describe_info(const Arguments& arguments, StandardOutput& out) {
    std::string reason;
    if (arguments.calibrates) warm_up(name_of_device(arguments), arguments.execution.thread_count());
    const auto start = std::chrono::steady_clock::now();
    const std::shared_ptr<Device> device = open_wanted_device(arguments, reason);
    const std::chrono::duration<double> open_seconds = std::chrono::steady_clock::now() - start;
    const std::string folder = profile_folder();
    if (arguments.calibrates) calibrate(device, open_seconds.count(), arguments.execution.thread_count(), folder);
    Printer printer(out);
    print_processor(arguments, printer);
    if (!device) {
        printer.line("device", "none: " + reason);
        return;
    }
    print_device(*device, printer);
    if (folder.empty()) {
        printer.line("profile", kNoFolder);
        return;
    }
    const ReadProfile read = read_profile(folder, machine_identity(*device));
    if (read.profile) {
        printer.line("profile", read.path);
        print_profile(*read.profile, printer);
    } else {
        printer.line("profile", formatted("{}: {}; run cleave info --calibrate", read.path, read.reason));
    }
}

}  // namespace cleave::cli
