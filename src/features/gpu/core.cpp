#include "features/gpu/core.h"

#include "cleave/error.h"
#include "features/gpu/device.h"

namespace cleave::offload {
namespace {

ContextOptions checked(ContextOptions options) {
    if (options.policy == DevicePolicy::kGpu && !options.device) {
        throw ArgumentError("offload: the policy needs a device, and there is none");
    }
    if (options.page_size == 0) throw ArgumentError("offload: a page has at least one byte");
    return options;
}

}  // namespace

Core::Core(const ContextOptions& given)
    : options(checked(given)),
      memory(make_context_memory(given.device, given.memory, given.device_memory)),
      blocks(std::make_shared<PinnedBlocks>(memory.manager, given.memory_flags)),
      clock(&clock_of(given.device.get())),
      rates(options.profile ? options.profile->functions : std::map<std::string, FunctionRates>{}) {
    if (options.profile) ordinary_in.set_prior(options.profile->ordinary_in);
}

Core& Core::not_used_by_this_thread() {
    if (user_.load() == std::this_thread::get_id()) {
        throw LogicError("offload: a body may not evaluate anything in the context that calls it");
    }
    return *this;
}

Core::Use::Use(Core& core) : core_(core.not_used_by_this_thread()), lock_(core.mutex) {
    core_.user_.store(std::this_thread::get_id());
}

Core::Use::~Use() { core_.user_.store(std::thread::id()); }

DeviceStream& Core::stream() {
    if (!options.device) throw ArgumentError("offload: a value lies on a device, and the context has none");
    if (!stream_) {
        stream_ = std::make_unique<DeviceStream>(
            std::make_unique<DeviceStream::State>(*options.device, memory.manager, options.memory_flags));
        stream_->state().blocks = blocks;
    }
    return *stream_;
}

DeviceStream Core::make_page_stream() const {
    DeviceStream made(std::make_unique<DeviceStream::State>(*options.device, memory.manager, options.memory_flags));
    made.state().blocks = blocks;
    made.state().is_for_pages = true;
    return made;
}

std::optional<double> Core::move_seconds(Side to, bool is_pinned, std::uint64_t bytes) const {
    if (!options.profile) return std::nullopt;
    const MachineProfile& profile = *options.profile;
    const Rate in = is_pinned ? profile.in : ordinary_in.rate().value_or(profile.ordinary_in);
    const Rate& out = is_pinned ? profile.out : profile.ordinary_out;
    return (to == Side::kDevice ? in : out).seconds(static_cast<double>(bytes));
}

const char* Core::reason_for_host() const {
    if (options.policy == DevicePolicy::kCpu) return "the policy is cpu";
    if (options.policy == DevicePolicy::kGpu) return nullptr;
    if (!options.device) return "there is no device";
    if (!options.profile) return "the machine has not been measured: run cleave info --calibrate";
    return nullptr;
}

}  // namespace cleave::offload
