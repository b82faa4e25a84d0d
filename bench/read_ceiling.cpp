// read_ceiling FILE THREADS: maps the file as cleave does, reads every byte once and prints their exclusive or.
#include <exception>
#include <iostream>
#include <string>

#include "cleave/input.h"
#include "cleave/mapping_guard.h"
#include "read_only.h"

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::cerr << "usage: read_ceiling FILE THREADS\n";
        return 2;
    }
    const auto threads = static_cast<unsigned>(std::stoul(argv[2]));
    const cleave::MappingGuard guard;
    const cleave::Input input = cleave::Input::open(argv[1], nullptr, cleave::Access::kMapped);
    std::cout << std::hex << cleave::xor_of(input.bytes(), threads) << "\n";
    return 0;
} catch (const std::exception& error) {
    std::cerr << "read_ceiling: " << error.what() << "\n";
    return 1;
}
