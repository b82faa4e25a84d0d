#include <benchmark/benchmark.h>

#include <memory>
#include <optional>

#include "benches.h"
#include "cleave/input.h"
#include "cleave/mapping_guard.h"
#include "cleave/scan.h"
#include "read_only.h"

namespace cleave {
namespace {

void read_file(benchmark::State& state, const std::string& path) {
    const MappingGuard guard;
    std::size_t size = 0;
    for ([[maybe_unused]] auto _ : state) {
        const Input input = Input::open(path, nullptr, Access::kMapped);
        benchmark::DoNotOptimize(xor_of(input.bytes(), static_cast<unsigned>(state.range(0))));
        size = input.bytes().size();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void scan_file(benchmark::State& state, const std::string& path, std::optional<std::uint64_t>& records) {
    const MappingGuard guard;
    std::size_t size = 0;
    for ([[maybe_unused]] auto _ : state) {
        Input input = Input::open(path, nullptr, Access::kMapped);
        Execution execution;
        execution.threads = static_cast<unsigned>(state.range(0));
        const Findings findings = scan(input, Dialect(), execution);
        if (records.value_or(findings.records) != findings.records) state.SkipWithError("runs differ");
        records = findings.records;
        size = findings.size;
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

}  // namespace

void register_file_benches(const std::string& path) {
    benchmark::RegisterBenchmark("file/read", read_file, path)->Arg(1)->Arg(2)->UseRealTime();
    const auto records = std::make_shared<std::optional<std::uint64_t>>();
    benchmark::RegisterBenchmark("file/scan", [=](benchmark::State& state) { scan_file(state, path, *records); })
        ->Arg(1)
        ->Arg(2)
        ->UseRealTime();
}

}  // namespace cleave
