#include "evaluate.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "cleave/experimental/machine_profile.h"

namespace annotated {
namespace {

cleave::ContextOptions options_of_environment() {
    cleave::ContextOptions options;
    options.memory = cleave::MemoryManager::open("pool");
    const char* const device = std::getenv("OFFLOAD_DEVICE");
    const std::string name = device != nullptr ? device : "cpu";
    if (name == "cpu") return options;
    options.device = cleave::open_device(name == "auto" ? "gpu" : name);
    options.policy = name == "auto" ? cleave::DevicePolicy::kAuto : cleave::DevicePolicy::kGpu;
    options.profile = cleave::read_profile(cleave::profile_folder(), cleave::machine_identity(*options.device)).profile;
    if (const char* const memory = std::getenv("OFFLOAD_MEMORY")) options.device_memory = std::stoull(memory);
    return options;
}

}  // namespace

cleave::Context& context() {
    static cleave::Context made(options_of_environment());
    return made;
}

void explain_if_wanted() {
    if (std::getenv("OFFLOAD_EXPLAIN") == nullptr) return;
    for (const cleave::NodeReport& node : context().report()) {
        std::cerr << node.name << (node.side == cleave::Side::kHost ? " host" : " device")
                  << (node.pages > 1 ? " in pages" : "") << '\n';
    }
}

}  // namespace annotated
