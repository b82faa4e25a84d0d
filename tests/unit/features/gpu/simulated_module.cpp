// The simulated device as a module. Its settings are its memory size in bytes and, optionally, ",PATH": opening it for
// the first time takes kColdOpening and creates the file. Other words make the module unusable. A macro renames the
// function that the module exports.
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <thread>

#include "simulated_device.h"

#ifndef CLEAVE_SIMULATED_SYMBOL
#define CLEAVE_SIMULATED_SYMBOL cleave_device_open
#endif

namespace {

constexpr std::chrono::milliseconds kColdOpening{1000};

void open_card(const std::string& path) {
    if (::access(path.c_str(), F_OK) == 0) return;
    std::this_thread::sleep_for(kColdOpening);
    std::ofstream(path) << "warm";
}

// The device with a fault in its C interface.
const cleave_device* faulty(const cleave_device& device, const std::string& fault) {
    static auto& kept = *new std::deque<cleave_device>;  // a refused device is not closed, and stays in place
    cleave_device& changed = kept.emplace_back(device);
    if (fault == "another version") changed.interface_version = 7;
    if (fault == "too short") changed.struct_size = 24;
    if (fault == "no run") changed.run = nullptr;
    if (fault == "no name") changed.name = nullptr;
    return &changed;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) cleave_device_opening CLEAVE_SIMULATED_SYMBOL(const char* config,
                                                                                     const cleave_device** device,
                                                                                     char* message,
                                                                                     std::size_t message_size) {
    const std::string given = config;
    std::strncpy(message, "it is simulated", message_size);
    if (given == "no driver") return CLEAVE_DEVICE_NO_DRIVER;
    if (given == "no card") return CLEAVE_DEVICE_NO_CARD;
    if (given == "no luck") return CLEAVE_DEVICE_NOT_OPENED;
    const std::size_t comma = given.find(',');
    if (comma != std::string::npos) open_card(given.substr(comma + 1));
    cleave::SimulatedOptions options;
    if (const std::uint64_t size = std::strtoull(config, nullptr, 10); size > 0) options.memory_size = size;
    *device = &cleave::SimulatedDevice::make_face(options);
    if (std::isalpha(static_cast<unsigned char>(given[0])) != 0) *device = faulty(**device, given);
    return CLEAVE_DEVICE_OPENED;
}
}
