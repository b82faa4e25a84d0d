#include <benchmark/benchmark.h>
#include <iconv.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "benches.h"
#include "cleave/kernel.h"
#include "core/dialect/state_machine.h"
#include "core/scan/summarise.h"
#include "core/scan/walker.h"
#include "features/compressed/text_decoder.h"
#include "loop2021.h"
#include "samples.h"

namespace cleave {
namespace {

// Fits in the level 2 cache of every machine from the last ten years.
constexpr std::size_t kCachedSize = std::size_t{128} << 10;

std::uint64_t count_by_state_machine(std::span<const std::uint8_t> bytes, const StateMachine& execution) {
    State state = State::kRecordStart;
    std::uint64_t records = 0;
    for (const std::uint8_t byte : bytes) {
        const Transition& transition = execution.step(state, byte);
        records += transition.starts_record ? 1 : 0;
        state = transition.next;
    }
    return records;
}

void finish(benchmark::State& state, const Records& records, bool right) {
    if (!right) state.SkipWithError("wrong count");
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(records.bytes.size()));
}

// The cost of every block: the summary under both hypotheses, in quote mode `anywhere`.
void summarise(benchmark::State& state, const Kernel& kernel, const Sample& sample) {
    const Records records = make_records(sample, kCachedSize);
    const auto& bytes = records.bytes;
    BlockSummary summary{};
    for ([[maybe_unused]] auto _ : state) {
        summary = summarise_block(bytes, 0, 0, bytes.size(), sample.dialect, kernel).summary;
        benchmark::DoNotOptimize(summary);
    }
    const StateMachine machine(sample.dialect, Quoting::kAnywhere);
    finish(state, records, summary.records[0] == count_by_state_machine(bytes, machine));
}

// The cost of a block that contains a cut or is suspect: finding its record starts when the state is known.
void walk(benchmark::State& state, const Kernel& kernel, const Sample& sample) {
    const Records records = make_records(sample, kCachedSize);
    Walker walker(sample.dialect, kernel);
    for ([[maybe_unused]] auto _ : state) {
        walker.seek(0, 0, State::kRecordStart);
        benchmark::DoNotOptimize(walker.walk(records.bytes).data());
    }
    finish(state, records, walker.records() == records.ends.size());
}

void step_state_machine(benchmark::State& state, const Sample& sample) {
    const Records records = make_records(sample, kCachedSize);
    const StateMachine machine(sample.dialect);
    std::uint64_t count = 0;
    for ([[maybe_unused]] auto _ : state) {
        count = count_by_state_machine(records.bytes, machine);
        benchmark::DoNotOptimize(count);
    }
    finish(state, records, count == records.ends.size());
}

#ifdef CLEAVE_HAS_LOOP2021
void loop_2021(benchmark::State& state, const Sample& sample) {
    const Records records = make_records(sample, kCachedSize);
    NewlineCounts counts{};
    for ([[maybe_unused]] auto _ : state) {
        counts = count_newlines_2021(records.bytes.data(), records.bytes.size());
        benchmark::DoNotOptimize(counts);
    }
    finish(state, records, counts.outside == records.ends.size());
}

// The loop supports one quote mode, LF only, and no escapes.
bool is_for_2021(const Sample& sample) { return sample.dialect == Dialect() && sample.name != "stray"; }
#endif

// Text in windows-1251: of 1,000 bytes, this many are letters above ASCII, in words of six.
std::vector<std::uint8_t> cyrillic_text(unsigned of_thousand) {
    std::vector<std::uint8_t> bytes = make_records(samples().front(), kCachedSize).bytes;
    constexpr std::size_t kWord = 6;
    std::uint32_t seed = 1;
    for (std::size_t i = 0; i + kWord <= bytes.size(); i += kWord) {
        seed = seed * 1664525 + 1013904223;
        if (seed >> 16 >= 65.536 * of_thousand) continue;
        for (std::size_t k = 0; k < kWord; ++k) bytes[i + k] = static_cast<std::uint8_t>(0xE0 + (seed >> 8) % 32);
    }
    return bytes;
}

void convert(benchmark::State& state) {
    const auto bytes = cyrillic_text(static_cast<unsigned>(state.range(0)));
    const auto decoder = make_text_decoder(encoding_named("cp1251"), false);
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(decoder->decode(bytes).data());
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void check_utf8(benchmark::State& state) {
    const auto decoder = make_text_decoder(encoding_named("cp1251"), false);
    const auto text = decoder->decode(cyrillic_text(static_cast<unsigned>(state.range(0))));
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(valid_utf8(bytes));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void convert_by_iconv(benchmark::State& state) {
    auto bytes = cyrillic_text(static_cast<unsigned>(state.range(0)));
    std::vector<char> text(2 * bytes.size());
    iconv_t converter = ::iconv_open("UTF-8", "CP1251");
    for ([[maybe_unused]] auto _ : state) {
        char* from = reinterpret_cast<char*>(bytes.data());
        char* to = text.data();
        std::size_t left = bytes.size();
        std::size_t room = text.size();
        if (::iconv(converter, &from, &left, &to, &room) != 0) state.SkipWithError("iconv failed");
        benchmark::DoNotOptimize(to);
    }
    ::iconv_close(converter);
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

void copy(benchmark::State& state) {
    const auto bytes = cyrillic_text(0);
    std::vector<std::uint8_t> copied(bytes.size());
    for ([[maybe_unused]] auto _ : state) {
        std::memcpy(copied.data(), bytes.data(), bytes.size());
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

template <class Function, class... Arguments>
void add(const std::string& name, Function function, Arguments... arguments) {
    benchmark::RegisterBenchmark(name.c_str(), function, arguments...);
}

}  // namespace

void register_block_benches() {
    for (const Kernel* kernel : available_kernels()) {
        const std::string name(kernel_name(*kernel));
        for (const Sample& sample : samples()) {
            add("summarise/" + name + "/" + std::string(sample.name), summarise, std::ref(*kernel), std::ref(sample));
            add("walk/" + name + "/" + std::string(sample.name), walk, std::ref(*kernel), std::ref(sample));
        }
    }
    for (const Sample& sample : samples()) {
        add("state_machine/" + std::string(sample.name), step_state_machine, std::ref(sample));
#ifdef CLEAVE_HAS_LOOP2021
        if (is_for_2021(sample)) add("loop2021/" + std::string(sample.name), loop_2021, std::ref(sample));
#endif
    }
    for (const int share : {0, 10, 50, 200, 700}) {
        benchmark::RegisterBenchmark("convert/cleave", convert)->Arg(share);
        benchmark::RegisterBenchmark("convert/utf-8", check_utf8)->Arg(share);
        benchmark::RegisterBenchmark("convert/iconv", convert_by_iconv)->Arg(share);
    }
    benchmark::RegisterBenchmark("convert/memcpy", copy);
}

}  // namespace cleave
