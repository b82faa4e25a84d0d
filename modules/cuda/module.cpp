// What the module exports as a device module; see cleave/experimental/device_module.h. Its settings are
// "CARD[,MANAGER]": the number of a card, and a name from cuda/managers.h, by default cuda-async. Empty settings select
// card 0.
#include <cuda_runtime.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>

#include "cuda/cuda_device.h"

namespace cleave::cuda {
namespace {

struct Settings {
    int card = 0;
    std::string manager = "cuda-async";
    bool is_good = true;
};

Settings parse_settings(std::string_view text) {
    Settings settings;
    if (text.empty()) return settings;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, settings.card);
    settings.is_good = read.ec == std::errc() && settings.card >= 0;
    if (!settings.is_good || read.ptr == end) return settings;
    settings.is_good = *read.ptr == ',';
    settings.manager.assign(read.ptr + 1, end);
    return settings;
}

cleave_device_opening say(cleave_device_opening opening, const std::string& text, char* message,
                          std::size_t message_size) {
    std::ignore = std::snprintf(message, message_size, "%s", text.c_str());
    return opening;
}

cleave_device_opening open(const char* config, const cleave_device** device, char* message, std::size_t message_size) {
    const Settings settings = parse_settings(config);
    if (!settings.is_good) {
        return say(CLEAVE_DEVICE_NOT_OPENED, std::string("the settings are not CARD[,MANAGER]: ") + config, message,
                   message_size);
    }
    // Without a driver CUDA reports version 0.
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
        return say(CLEAVE_DEVICE_NO_DRIVER, "CUDA finds none", message, message_size);
    }
    int cards = 0;
    const cudaError_t error = cudaGetDeviceCount(&cards);
    if (error == cudaErrorInsufficientDriver) {
        return say(CLEAVE_DEVICE_NO_DRIVER, "the driver of the machine is too old for the module", message,
                   message_size);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && cards == 0)) {
        return say(CLEAVE_DEVICE_NO_CARD, "CUDA finds none", message, message_size);
    }
    if (error != cudaSuccess) {
        return say(CLEAVE_DEVICE_NOT_OPENED, std::string("cudaGetDeviceCount: ") + cudaGetErrorString(error), message,
                   message_size);
    }
    if (settings.card >= cards) {
        const std::string last =
            cards == 1 ? "card 0 is the only one" : "the last card is " + std::to_string(cards - 1);
        return say(CLEAVE_DEVICE_NO_CARD, "card " + std::to_string(settings.card) + ": " + last, message, message_size);
    }
    *device = &(new CudaDevice(settings.card, settings.manager))->face();
    return CLEAVE_DEVICE_OPENED;
}

}  // namespace
}  // namespace cleave::cuda

extern "C" {

__attribute__((visibility("default"))) cleave_device_opening cleave_device_open(const char* config,
                                                                                const cleave_device** device,
                                                                                char* message,
                                                                                std::size_t message_size) {
    try {
        return cleave::cuda::open(config, device, message, message_size);
    } catch (const std::exception& error) {
        std::ignore = std::snprintf(message, message_size, "%s", error.what());
        return CLEAVE_DEVICE_NOT_OPENED;
    }
}
}
