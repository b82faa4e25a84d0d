#include "cli/feature_parts.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "cleave/experimental/device.h"
#include "cleave/experimental/device_choice.h"
#include "cleave/experimental/device_context.h"
#include "cleave/experimental/machine_profile.h"
#include "cleave/memory.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "features/redact/lane/device_lane.h"
#include "features/redact/stage/record_blocks.h"

namespace cleave::cli {
namespace {

// The message of DeviceUnavailable without the subject that it begins with.
std::string reason_of(const DeviceUnavailable& unavailable) {
    constexpr std::string_view kSubject = "device: ";
    std::string reason = unavailable.what();
    if (reason.starts_with(kSubject)) reason.erase(0, kSubject.size());
    return reason;
}

constexpr const char* kOtherDevice = "device: another one was measured last; run cleave info --calibrate";
constexpr const char* kNotMeasured = "this machine has not been measured; run cleave info --calibrate";

// Why there is no profile of this machine.
std::string reason_of(const ReadProfile& read) {
    const bool is_of_this_machine = read.reason != "not measured yet" && read.reason != "belongs to another processor";
    if (!is_of_this_machine) return kNotMeasured;
    return formatted("{}: {}; run cleave info --calibrate", read.path, read.reason);
}

// Lower bounds on the bytes per second that one thread processes under any rules: with keys and a dozen columns, and
// without keys.
constexpr double kSlowestKeyed = 20e6;
constexpr double kSlowest = 150e6;

void say_cpu(const Arguments& arguments, std::string_view reason) {
    if (!arguments.quiet) print_message(formatted("--device auto: the CPU applies all rules: {}", printable(reason)));
}

ContextOptions options_of(const Arguments& arguments) {
    ContextOptions options;
    options.memory = MemoryManager::or_default(arguments.execution.memory);
    options.policy = DevicePolicy::kGpu;
    options.device_memory = arguments.device_memory;
    options.memory_flags = CLEAVE_MEMORY_SECRET;
    return options;
}

// The size of all inputs in bytes. std::nullopt if it cannot be known before they are read.
std::optional<std::uint64_t> size_of_inputs(const Arguments& arguments) {
    std::uint64_t size = 0;
    for (const Location& input : arguments.inputs.all()) {
        std::error_code error;
        if (!std::filesystem::is_regular_file(input.name(), error)) return std::nullopt;
        size += std::filesystem::file_size(input.name(), error);
        if (error) return std::nullopt;
    }
    return size;
}

// Whether the CPU would finish before a decision is made, whatever the device.
bool is_too_small(const Arguments& arguments, const std::optional<std::uint64_t>& size) {
    return size && *size < kRunsBeforeDevice * std::min(kBlockSize, arguments.execution.block_size);
}

// Whether the CPU would finish before a device could be opened, whatever the rules.
bool is_too_small(const Arguments& arguments, const std::optional<std::uint64_t>& size, const MachineProfile& profile) {
    const double rate = arguments.key_sources.empty() ? kSlowest : kSlowestKeyed;
    return size && static_cast<double>(*size) < profile.open * rate * arguments.execution.thread_count();
}

// Opens a device in a thread that starts before the sandbox closes, because a driver opens its own libraries and files.
// The thread waits until it is asked to open the device, and does nothing else.
class Opener {
public:
    using Open = std::function<std::shared_ptr<DeviceContext>()>;

    // Throws SystemError if the thread cannot be started.
    explicit Opener(Open open) : open_(std::move(open)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

    // Call at most once.
    std::shared_ptr<DeviceContext> open() {
        MutexLock lock(mutex_);
        is_asked_ = true;
        asked_.notify_all();
        while (!is_done_) done_.wait(lock);
        if (failure_) std::rethrow_exception(failure_);
        return context_;
    }

private:
    void run(const std::stop_token& stop) {
        MutexLock lock(mutex_);
        while (!is_asked_ && !stop.stop_requested()) asked_.wait(lock, stop);
        if (!is_asked_) return;
        try {
            context_ = open_();
        } catch (...) {  // rethrown in the thread that asked
            failure_ = std::current_exception();
        }
        is_done_ = true;
        done_.notify_all();
    }

    const Open open_;
    Mutex mutex_;
    StoppableConditionVariable asked_;
    ConditionVariable done_;
    bool is_asked_ CLEAVE_GUARDED_BY(mutex_) = false;
    bool is_done_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
    std::shared_ptr<DeviceContext> context_ CLEAVE_GUARDED_BY(mutex_);
    std::jthread thread_;  // last: it uses the other members
};

// Arranges for the device to be opened if the job turns out to take long.
void consider_device(Arguments& arguments) {
    const std::optional<std::uint64_t> size = size_of_inputs(arguments);
    if (is_too_small(arguments, size)) return;  // reading the profile takes a millisecond
    const ReadProfile read = read_newest_profile(profile_folder());
    if (!read.profile) return say_cpu(arguments, reason_of(read));
    if (is_too_small(arguments, size, *read.profile)) return;
    ContextOptions options = options_of(arguments);
    options.profile = read.profile;
    const auto open = [options]() mutable {
        options.device = open_device("gpu");
        if (machine_identity(*options.device) != options.profile->identity) {
            throw DeviceUnavailable(DeviceUnavailable::Missing::kCard, kOtherDevice);
        }
        return std::make_shared<DeviceContext>(options);
    };
    try {
        const auto opener = std::make_shared<Opener>(open);
        arguments.execution.offload = std::make_shared<DeviceChoice>(
            DeviceProspect{read.profile->open, read.profile->stage, [opener] { return opener->open(); }});
    } catch (const std::system_error& error) {
        say_cpu(arguments, error.what());
    }
}

}  // namespace

void choose_device(Arguments& arguments) {
    if (arguments.device.empty()) return;
    if (arguments.device == "auto") return consider_device(arguments);
    ContextOptions options = options_of(arguments);
    try {
        options.device = open_device(arguments.device);
    } catch (const DeviceUnavailable& unavailable) {
        const std::string what = formatted("--device {}: {}", arguments.device, reason_of(unavailable));
        if (unavailable.missing() == DeviceUnavailable::Missing::kTrust) throw UsageError(what);
        throw std::runtime_error(what);
    }
    options.profile = read_profile(profile_folder(), machine_identity(*options.device)).profile;
    const double seconds_per_byte = options.profile ? options.profile->stage : 0;
    arguments.execution.offload =
        std::make_shared<DeviceChoice>(std::make_shared<DeviceContext>(options), seconds_per_byte);
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
