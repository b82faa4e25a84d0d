#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "benches.h"
#include "cleave/cleave_scan.h"
#include "cleave/scan.h"
#include "samples.h"

namespace cleave {
namespace {

constexpr std::size_t kInputSize = std::size_t{64} << 20;
constexpr std::size_t kPoolSize = std::size_t{1} << 20;

std::vector<std::uint8_t> make_bytes(const Sample& sample) {
    const Records pool = make_records(sample, kPoolSize);
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < kInputSize) bytes.insert(bytes.end(), pool.bytes.begin(), pool.bytes.end());
    return bytes;
}

cleave_scan_dialect plain_dialect(const Dialect& dialect) {
    return {static_cast<std::int16_t>(dialect.quote ? *dialect.quote : -1),
            static_cast<std::int16_t>(dialect.escape ? *dialect.escape : -1),
            dialect.delimiter,
            static_cast<std::uint8_t>(dialect.terminator),
            static_cast<std::uint8_t>(dialect.quoting),
            static_cast<std::uint8_t>(dialect.escape_scope)};
}

void finish(benchmark::State& state, std::size_t size, bool right) {
    if (!right) state.SkipWithError("wrong count");
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
}

// The library's scan, on one core.
void library(benchmark::State& state, const Sample& sample) {
    const std::vector<std::uint8_t> bytes = make_bytes(sample);
    Execution execution;
    execution.threads = 1;
    std::uint64_t records = 0;
    for ([[maybe_unused]] auto _ : state) records = RecordIndex(bytes, sample.dialect, execution).end().record;
    finish(state, bytes.size(), records > 0);
}

// The same bytes through cleave_scan(), in buffers of this size.
void scan_in_order(benchmark::State& state, const Sample& sample, std::size_t buffer) {
    const std::vector<std::uint8_t> bytes = make_bytes(sample);
    const cleave_scan_dialect dialect = plain_dialect(sample.dialect);
    std::uint64_t records = 0;
    for ([[maybe_unused]] auto _ : state) {
        cleave_scan_state reader = cleave_scan_begin(&dialect);
        records = 0;
        while (reader.offset < bytes.size()) {
            cleave_scan_counts counts;
            cleave_scan(&dialect, &reader, bytes.data() + reader.offset, std::min(buffer, bytes.size() - reader.offset),
                        &counts);
            records += counts.records;
        }
    }
    finish(state, bytes.size(), records == RecordIndex(bytes, sample.dialect, Execution()).end().record);
}

// From the middle of an input, of which nothing is known. The first byte is not the start of a record.
void summarise(benchmark::State& state, const Sample& sample) {
    const std::vector<std::uint8_t> bytes = make_bytes(sample);
    const cleave_scan_dialect dialect = plain_dialect(sample.dialect);
    cleave_scan_summary summary{};
    for ([[maybe_unused]] auto _ : state) {
        cleave_summarise(&dialect, 1000, bytes.data(), bytes.size(), &summary);
        benchmark::DoNotOptimize(summary);
    }
    finish(state, bytes.size(), summary.rows[CLEAVE_SCAN_RECORD_START].records > 0);
}

}  // namespace

void register_boundary_benches() {
    for (const Sample& sample : samples()) {
        const std::string name(sample.name);
        benchmark::RegisterBenchmark(("boundary/library/" + name).c_str(), library, std::ref(sample));
        benchmark::RegisterBenchmark(("boundary/scan/" + name).c_str(), scan_in_order, std::ref(sample), SIZE_MAX);
        benchmark::RegisterBenchmark(("boundary/scan_64k/" + name).c_str(), scan_in_order, std::ref(sample),
                                     std::size_t{64} << 10);
        benchmark::RegisterBenchmark(("boundary/summarise/" + name).c_str(), summarise, std::ref(sample));
    }
}

}  // namespace cleave
