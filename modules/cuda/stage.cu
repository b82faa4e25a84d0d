#include "cuda/stage.h"

#include <cstring>

#include "cuda/managers.h"
#include "cuda/rows.h"
#include "cuda/stage_rows.h"

namespace cleave::cuda {

DeviceStage::DeviceStage(Device& device, const ParseMarkup& markup, std::span<const std::uint8_t> program)
    : device_(device), markup_(markup), flat_{} {
    std::memcpy(&flat_, program.data(), sizeof flat_);
    MemoryRequest request;
    request.size = program.size();
    request.space = MemorySpace::kDevice;
    request.flags = CLEAVE_MEMORY_SECRET;
    request.stream = device.stream();
    program_ = open_manager("cuda")->allocate(request);
    check(cudaMemcpyAsync(program_.data(), program.data(), program.size(), cudaMemcpyHostToDevice, device.stream()),
          "cudaMemcpyAsync");
    device.wait();
}

std::optional<RewrittenPage> DeviceStage::run(const std::uint8_t* bytes, std::uint64_t size) {
    const std::optional<DeviceFields> fields = parse(device_, markup_, bytes, size, guess_);
    if (!fields) return std::nullopt;
    const std::size_t count = kFirstRuleCounter + std::size_t{kRuleCounters} * flat_.rules.count;
    const std::size_t counters_size = kCounterCopies * count * sizeof(std::uint64_t);
    const Memory work = device_.allocate(counters_size + sizeof(std::uint32_t), CLEAVE_MEMORY_ZEROED);
    const Memory scratch = device_.allocate(size, CLEAVE_MEMORY_SECRET);
    StageRows functor{};
    functor.program = reinterpret_cast<const FlatProgram*>(program_.data());
    functor.bytes = bytes;
    functor.scratch = scratch.data();
    functor.size = static_cast<std::uint32_t>(size);
    functor.ends = fields->end_data();
    functor.rows = fields->row_data();
    functor.counters = reinterpret_cast<std::uint64_t*>(work.data());
    functor.counter_count = static_cast<std::uint32_t>(count);
    functor.odd = reinterpret_cast<std::uint32_t*>(work.data() + counters_size);
    const auto records = static_cast<std::int32_t>(fields->row_count - 1);

    RewrittenPage page;
    page.records = make_in_two_passes(device_, Columns<StageRows>{}, records, functor);
    std::vector<std::uint64_t> copies(kCounterCopies * count);
    std::uint32_t odd = 0;
    check(cudaMemcpyAsync(copies.data(), work.data(), counters_size, cudaMemcpyDeviceToHost, device_.stream()),
          "cudaMemcpyAsync");
    check(cudaMemcpyAsync(&odd, functor.odd, sizeof odd, cudaMemcpyDeviceToHost, device_.stream()), "cudaMemcpyAsync");
    device_.wait();
    if (odd != 0) return std::nullopt;
    page.counters.resize(count);
    for (std::size_t i = 0; i < copies.size(); ++i) page.counters[i % count] += copies[i];
    return page;
}

}  // namespace cleave::cuda
