// How fast blocks are summarised, kernel by kernel, and how fast a mapped file is scanned, beside the ceiling: a loop
// that only reads the same bytes by the same way. See bench/README.md.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "cleave/input.h"
#include "cleave/kernel.h"
#include "cleave/scan.h"
#include "dialect/state_machine.h"
#include "scan/parallel.h"
#include "scan/summarise.h"

namespace cleave {
namespace {

// Fits the second cache of every machine of the last ten years.
constexpr std::size_t kCachedSize = std::size_t{128} << 10;

struct Sample {
    const char* name;
    const char* record;  // repeated; digits in it are drawn anew
};
constexpr Sample kSamples[] = {
    {"plain", "000000,alpha,beta gamma,0.0000,delta\n"},
    {"quoted", "000000,\"alpha, beta\",\"he said \"\"no\"\"\",0.0000,\"delta\"\n"},
    {"embedded", "000000,\"first line\nsecond line\nthird\",00\n"},
    {"tiny", "0\n"},
};

std::vector<std::uint8_t> make_sample(const Sample& sample) {
    std::mt19937 random(1);
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < kCachedSize) {
        for (const char* c = sample.record; *c != '\0'; ++c) {
            bytes.push_back(static_cast<std::uint8_t>(*c == '0' ? '0' + static_cast<char>(random() % 10) : *c));
        }
    }
    return bytes;
}

std::uint32_t count_by_state_machine(const std::vector<std::uint8_t>& bytes, const Dialect& dialect) {
    const StateMachine machine(dialect);
    State state = State::kRecordStart;
    std::uint32_t records = 0;
    for (const std::uint8_t byte : bytes) {
        const Transition& transition = machine.step(state, byte);
        records += transition.starts_record ? 1 : 0;
        state = transition.next;
    }
    return records;
}

void summarise_in_cache(benchmark::State& state, const Kernel& kernel, const Sample& sample) {
    const std::vector<std::uint8_t> bytes = make_sample(sample);
    const Dialect dialect;
    BlockSummary summary{};
    for ([[maybe_unused]] auto _ : state) {
        summary = summarise_block(bytes, 0, 0, bytes.size(), dialect, kernel).summary;
        benchmark::DoNotOptimize(summary);
    }
    if (summary.records[0] != count_by_state_machine(bytes, dialect)) state.SkipWithError("wrong count");
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

// The ceiling: four streams through a block, as no reader can do with less.
std::uint64_t xor_of(std::span<const std::uint8_t> bytes) {
    using Wide [[gnu::vector_size(32)]] = std::uint64_t;
    constexpr std::size_t kStreams = 4;
    Wide sums[kStreams] = {};
    const std::size_t stream = bytes.size() / kStreams / sizeof(Wide) * sizeof(Wide);
    for (std::size_t i = 0; i < stream; i += sizeof(Wide)) {
        for (std::size_t s = 0; s < kStreams; ++s) {
            Wide part;
            std::memcpy(&part, bytes.data() + s * stream + i, sizeof part);
            sums[s] ^= part;
        }
    }
    const Wide sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
    return sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

void read_file(benchmark::State& state, const std::string& path) {
    std::size_t size = 0;
    for ([[maybe_unused]] auto _ : state) {
        const Input input = Input::open(path);
        const auto bytes = input.bytes();
        const std::size_t block = Machine().block_size;
        std::atomic<std::uint64_t> sum{0};
        parallel_for((bytes.size() + block - 1) / block, static_cast<unsigned>(state.range(0)), [&](std::size_t i) {
            sum ^= xor_of(bytes.subspan(i * block, std::min(block, bytes.size() - i * block)));
        });
        benchmark::DoNotOptimize(sum.load());
        size = bytes.size();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

void scan_file(benchmark::State& state, const std::string& path, std::optional<std::uint64_t>& records) {
    std::size_t size = 0;
    for ([[maybe_unused]] auto _ : state) {
        Input input = Input::open(path);
        Machine machine;
        machine.threads = static_cast<unsigned>(state.range(0));
        const Findings findings = scan(input, Dialect(), machine);
        if (records.value_or(findings.records) != findings.records) state.SkipWithError("runs differ");
        records = findings.records;
        size = findings.size;
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    for (const cleave::Kernel* kernel : cleave::available_kernels()) {
        for (const cleave::Sample& sample : cleave::kSamples) {
            const std::string name = "summarise/" + std::string(kernel_name(*kernel)) + "/" + sample.name;
            benchmark::RegisterBenchmark(name.c_str(), cleave::summarise_in_cache, std::ref(*kernel), sample);
        }
    }
    std::optional<std::uint64_t> records;
    if (argc > 1) {
        const std::string path = argv[1];
        benchmark::RegisterBenchmark("file/read", cleave::read_file, path)->Arg(1)->Arg(2)->UseRealTime();
        benchmark::RegisterBenchmark("file/scan", cleave::scan_file, path, std::ref(records))
            ->Arg(1)
            ->Arg(2)
            ->UseRealTime();
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
