// What the programs of workloads have in common.
#pragma once

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

// Calls run(count) with the number on the command line.
template <class Run>
int run_with_count(int argc, char** argv, Run run) {
    try {
        if (argc != 2) throw std::invalid_argument("usage: " + std::string(argv[0]) + " ROWS");
        std::cout.precision(10);
        run(std::uint64_t{std::stoull(argv[1])});
        return 0;
    } catch (const std::exception& error) {
        std::cerr << argv[0] << ": " << error.what() << '\n';
        return 1;
    }
}
