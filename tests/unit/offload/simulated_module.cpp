// The simulated device as a module. Its settings are the bytes of its memory, and perhaps ",PATH" of a file: the first
// opening takes kColdOpening and makes the file. "no driver" and "no card" say what is missing. A definition makes a
// module of another version of it.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "simulated_device.h"

#ifndef CLEAVE_SIMULATED_VERSION
#define CLEAVE_SIMULATED_VERSION CLEAVE_DEVICE_MODULE_VERSION
#endif

namespace {

constexpr std::chrono::milliseconds kColdOpening{1000};

void open_card(const std::string& path) {
    if (::access(path.c_str(), F_OK) == 0) return;
    std::this_thread::sleep_for(kColdOpening);
    std::ofstream(path) << "warm";
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* cleave_device_module_version() { return CLEAVE_SIMULATED_VERSION; }

__attribute__((visibility("default"))) cleave::DeviceOpening cleave_device_module_open(const char* config,
                                                                                       cleave::Device** device,
                                                                                       char* message,
                                                                                       std::size_t message_size) {
    using cleave::DeviceOpening;
    const std::string given = config;
    std::strncpy(message, "it is simulated", message_size);
    if (given == "no driver") return DeviceOpening::kNoDriver;
    if (given == "no card") return DeviceOpening::kNoCard;
    if (given == "no luck") return DeviceOpening::kFailed;
    const std::size_t comma = given.find(',');
    if (comma != std::string::npos) open_card(given.substr(comma + 1));
    cleave::SimulatedOptions options;
    if (!given.empty()) options.memory_size = std::strtoull(given.c_str(), nullptr, 10);
    *device = new cleave::SimulatedDevice(options);
    return DeviceOpening::kOpened;
}
}
