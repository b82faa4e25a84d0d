// The benchmarks of scan_bench, by subject. Each function registers its own with Google Benchmark.
#pragma once

#include <string>

namespace cleave {

// One block in cache: the kernels' two passes, the state machine, the loop of 2021.
void register_block_benches();
// Questions to an index.
void register_locate_benches();
// A mapped file, read and scanned.
void register_file_benches(const std::string& path);

}  // namespace cleave
