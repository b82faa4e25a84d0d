// The benchmarks of scan_bench, by subject. Each function registers its benchmarks with Google Benchmark.
#pragma once

#include <string>

namespace cleave {

// One block in the cache: the kernels' two passes, the state machine, the loop of 2021.
void register_block_benches();
// cleave_scan() and cleave_summarise() beside the scan of the library.
void register_boundary_benches();
// Index queries.
void register_locate_benches();
// Reading and scanning a mapped file.
void register_file_benches(const std::string& path);

}  // namespace cleave
