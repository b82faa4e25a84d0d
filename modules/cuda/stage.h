// Runs the program of a stage on a page of records in device memory: finds fields, then measures and writes records.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/memory.h"
#include "cuda/device.h"
#include "cuda/parse.h"
#include "cuda/strings.h"
#include "features/gpu/lane/device_stage.h"
#include "features/redact/stage/flat_program.h"

namespace cleave::cuda {

// Thread blocks spread their counts over this many copies of the counters.
constexpr std::uint32_t kCounterCopies = 64;

__host__ __device__ __forceinline__ std::uint32_t counter_of(std::uint32_t rule, RuleCounter counter) {
    return kFirstRuleCounter + kRuleCounters * rule + static_cast<std::uint32_t>(counter);
}

// The changed records in order, as a column with one value per record.
struct RewrittenPage {
    DeviceStrings records;
    std::vector<std::uint64_t> counters;  // see DeviceStageResult
};

// A program on a device. For one thread at a time. Key material is in memory that comes from CUDA itself, not from the
// manager of the device, and is zeroed when this object is destroyed.
class DeviceStage {
public:
    // `program` is a FlatProgram with its tables, in host memory. `markup` is for its dialect. `device` must outlive
    // the stage.
    DeviceStage(Device& device, const ParseMarkup& markup, std::span<const std::uint8_t> program);

    // `bytes` must be as for parse(): `size` bytes of whole records, without a header. Waits for the device. Returns
    // std::nullopt if the page is odd and the CPU must process it. Throws ColumnTooLarge for more than 2^31 - 1 bytes
    // of output, and whatever parse() throws.
    std::optional<RewrittenPage> run(const std::uint8_t* bytes, std::uint64_t size);

private:
    Device& device_;
    ParseMarkup markup_;
    ParseGuess guess_;
    FlatProgram flat_;
    Memory program_;
};

}  // namespace cleave::cuda
