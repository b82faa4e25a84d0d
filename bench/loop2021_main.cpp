// loop2021_main FILE THREADS: counts the newlines outside quotes with the loop of 2021, one range per thread.
// loop2021_main FILE states|nested|blocks [escape]: the same by one of its steps, with one thread; see loop2021.h.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "cleave/input.h"
#include "cleave/mapping_guard.h"
#include "loop2021.h"

namespace cleave {
namespace {

std::uint64_t count_newlines(std::span<const std::uint8_t> bytes, unsigned threads) {
    std::vector<NewlineCounts> counts(threads);
    parallel_for(threads, threads, [&](std::size_t i) {
        const std::size_t begin = bytes.size() / threads * i;
        const std::size_t end = i + 1 == threads ? bytes.size() : bytes.size() / threads * (i + 1);
        counts[i] = count_newlines_2021(bytes.data() + begin, end - begin);
    });
    std::uint64_t newlines = 0;
    bool inside = false;
    for (const NewlineCounts& count : counts) {
        newlines += inside ? count.all - count.outside : count.outside;
        inside ^= count.flips;
    }
    return newlines;
}

std::uint64_t count_by_step(std::span<const std::uint8_t> bytes, const std::string& step, bool has_escape) {
    if (step == "states") return count_by_states_2021(bytes.data(), bytes.size(), has_escape);
    if (step == "nested") return count_by_nested_loops_2021(bytes.data(), bytes.size(), has_escape);
    if (step == "blocks") return count_newlines_2021(bytes.data(), bytes.size(), has_escape).outside;
    return count_newlines(bytes, static_cast<unsigned>(std::stoul(step)));
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) try {
    const bool has_escape = argc == 4 && argv[3] == std::string("escape");
    if (argc != 3 && !has_escape) {
        std::cerr << "usage: loop2021_main FILE THREADS, or FILE states|nested|blocks [escape]\n";
        return 2;
    }
    const cleave::MappingGuard guard;
    const cleave::Input input = cleave::Input::open(argv[1], nullptr, cleave::Access::kMapped);
    std::cout << cleave::count_by_step(input.bytes(), argv[2], has_escape) << "\n";
    return 0;
} catch (const std::exception& error) {
    std::cerr << "loop2021_main: " << error.what() << "\n";
    return 1;
}
