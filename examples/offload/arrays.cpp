// Computes on the CPU or on a device, with the library in array.h.
//
//   example_offload_arrays cpu|gpu|/MODULE.so[:CONFIG] COUNT [BYTES]
//
// Prints the sum of sqrt(arcsin(x) * 0.25) for COUNT numbers x between 0 and 1, and where each function ran. BYTES
// limits the device's memory.
#include <exception>
#include <iostream>
#include <numeric>
#include <string>

#include "array.h"

namespace {

void run(const std::string& device, std::uint64_t count, std::uint64_t device_memory) {
    cleave::ContextOptions options;
    options.memory = cleave::MemoryManager::open("system");
    if (device != "cpu") {
        options.device = cleave::open_device(device);
        options.policy = cleave::DevicePolicy::kGpu;
        options.device_memory = device_memory;
    }
    cleave::Context context(options);

    const Array input = Array::on_host(*options.memory, count);
    for (std::uint64_t i = 0; i < count; ++i) input.data()[i] = static_cast<double>(i) / static_cast<double>(count);

    const auto result = square_root(multiply(arcsin(input), allocate(count, 0.25)));
    context.evaluate(result);
    const std::span<const double> numbers = result.get().numbers();
    std::cout << std::accumulate(numbers.begin(), numbers.end(), 0.0) << '\n';
    for (const cleave::NodeReport& node : context.report()) {
        std::cout << node.name << (node.side == cleave::Side::kHost ? " host" : " device")
                  << (node.pages > 1 ? " in pages" : "") << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) throw std::invalid_argument("usage: example_offload_arrays DEVICE COUNT [BYTES]");
        run(argv[1], std::stoull(argv[2]), argc > 3 ? std::stoull(argv[3]) : 0);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "example_offload_arrays: " << error.what() << '\n';
        return 1;
    }
}
