#include <benchmark/benchmark.h>

#include <string>

#include "benches.h"
#include "cleave/scan.h"
#include "samples.h"

namespace cleave {
namespace {

constexpr std::size_t kInputSize = std::size_t{64} << 20;
constexpr std::size_t kPoolSize = std::size_t{1} << 20;
constexpr std::uint64_t kRecordQuestions = 1'000'000;
constexpr std::uint64_t kOffsetQuestions = 10'000;

std::vector<std::uint8_t> make_bytes(const Sample& sample) {
    const Records pool = make_records(sample, kPoolSize);
    std::vector<std::uint8_t> bytes;
    bytes.reserve(kInputSize + pool.bytes.size());
    while (bytes.size() < kInputSize) bytes.insert(bytes.end(), pool.bytes.begin(), pool.bytes.end());
    return bytes;
}

// Ascending record numbers, as `split -l` queries them.
void start_of(benchmark::State& state, const Sample& sample) {
    const std::vector<std::uint8_t> bytes = make_bytes(sample);
    const RecordIndex index(bytes, sample.dialect, Execution());
    const std::uint64_t records = index.end().record;
    for ([[maybe_unused]] auto _ : state) {
        Locator locator(index);
        std::uint64_t last = 0;
        for (std::uint64_t i = 0; i < kRecordQuestions; ++i) {
            const Boundary boundary = locator.start_of(records * i / kRecordQuestions);
            if (boundary.offset < last) state.SkipWithError("not ascending");
            last = boundary.offset;
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kRecordQuestions));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

// Ascending offsets, as `split -n` and `-C` query them.
void at_or_after(benchmark::State& state, const Sample& sample) {
    const std::vector<std::uint8_t> bytes = make_bytes(sample);
    const RecordIndex index(bytes, sample.dialect, Execution());
    for ([[maybe_unused]] auto _ : state) {
        Locator locator(index);
        for (std::uint64_t i = 0; i < kOffsetQuestions; ++i) {
            const std::uint64_t offset = bytes.size() * i / kOffsetQuestions;
            if (locator.at_or_after(offset).offset < offset) state.SkipWithError("before the offset");
        }
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kOffsetQuestions));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

}  // namespace

void register_locate_benches() {
    for (const char* const name : {"plain", "quoted", "stray", "tiny"}) {
        const Sample& sample = sample_by_name(name);
        benchmark::RegisterBenchmark(("start_of/" + std::string(name)).c_str(), start_of, std::ref(sample))
            ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark(("at_or_after/" + std::string(name)).c_str(), at_or_after, std::ref(sample))
            ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace cleave
