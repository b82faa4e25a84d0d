// Measures how fast the stages of a scan are, kernel by kernel. See bench/README.md.
#include <benchmark/benchmark.h>

#include "benches.h"

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    cleave::register_block_benches();
    cleave::register_boundary_benches();
    cleave::register_locate_benches();
    if (argc > 1) cleave::register_file_benches(argv[1]);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
