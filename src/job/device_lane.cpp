#include "job/device_lane.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "job/record_blocks.h"
#include "offload/device.h"
#include "stage/device_stage.h"
#include "stage/flatten.h"

namespace cleave {
namespace {

// Large enough for copies at the rate of the link, small enough for several in the memory of a small device.
constexpr std::size_t kPageSize = std::size_t{32} << 20;

// Runs that the CPU takes to see how fast it is. The first one also reads code and memory for the first time.
constexpr int kTrials = 3;

// What the device takes for a page and for a byte, until it was measured.
constexpr Rate kDeviceRate{200e-6, 5e-11};

void add_rule_counters(std::span<const std::uint64_t> counters, RuleCounts& counts) {
    counts.seen += counters[0];
    counts.changed += counters[1];
    counts.kept += counters[2];
    counts.empty += counters[3];
    counts.condition_false += counters[4];
}

void throw_if_failed(const DeviceStageStatus& status) {
    if (status.fault != DeviceFault::kNone) throw DeviceError(status.fault, status.text);
}

// Memory that a stage takes of the device, until it is known what of it is the result.
class StageMemory {
public:
    explicit StageMemory(DeviceStream& stream) : stream_(stream) {}

    DeviceStageMemory face() { return {this, &allocate}; }
    void throw_if_failed() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }
    // The memory that begins there; null for null.
    std::shared_ptr<const Memory> take(const void* begin) {
        for (Memory& block : blocks_) {
            if (block.size() > 0 && block.data() == begin) return std::make_shared<const Memory>(std::move(block));
        }
        return nullptr;
    }

private:
    static void* allocate(void* owner, std::uint64_t size, std::uint32_t flags) noexcept {
        auto& self = *static_cast<StageMemory*>(owner);
        try {
            self.blocks_.push_back(self.stream_.allocate(size, flags));
            return self.blocks_.back().data();
        } catch (...) {
            self.thrown_ = std::current_exception();
            return nullptr;
        }
    }

    DeviceStream& stream_;
    std::vector<Memory> blocks_;
    std::exception_ptr thrown_;
};

}  // namespace

// A stage that is ready on the device.
class DeviceLane::Program {
public:
    // Null if the stage is for the CPU alone.
    static std::shared_ptr<Program> make(const Stage& stage);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        if (state_ != nullptr) entry_->close(state_);
    }

    StagedRecords run(DeviceStream& stream, const RecordPage& page);

private:
    Program(SecretMemory flat, const ParseMarkup& markup) : flat_(std::move(flat)), markup_(markup) {}

    bool open(Device& device);

    SecretMemory flat_;
    const ParseMarkup markup_;
    const DeviceStageEntry* entry_ = nullptr;
    DeviceStageState* state_ = nullptr;
};

std::shared_ptr<DeviceLane::Program> DeviceLane::Program::make(const Stage& stage) {
    const std::optional<ParseMarkup> markup = parse_markup(stage.dialect());
    std::optional<SecretMemory> flat = flatten(stage);
    if (!markup || !flat) return nullptr;
    return std::shared_ptr<Program>(new Program(std::move(*flat), *markup));
}

// False if the device has no stages.
bool DeviceLane::Program::open(Device& device) {
    if (state_ != nullptr) return true;
    entry_ = static_cast<const DeviceStageEntry*>(device.entry(kDeviceStageEntry));
    if (entry_ == nullptr) return false;
    const DeviceStageProgram program{flat_.bytes().data(), flat_.bytes().size(), markup_};
    throw_if_failed(entry_->open(&device, &program, &state_));
    return true;
}

StagedRecords DeviceLane::Program::run(DeviceStream& stream, const RecordPage& page) {
    StagedRecords records;
    records.page = page;
    records.is_for_cpu = !open(stream.device());
    if (records.is_for_cpu) return records;
    StageMemory memory(stream);
    const DeviceStageMemory face = memory.face();
    const DeviceStagePage input{page.on_device->data(), page.bytes.size(), stream.native()};
    DeviceStageStatus status{};
    DeviceStageResult result{};
    stream.run({"stage", page.bytes.size()},
               [&](void* /*native*/) { status = entry_->run(state_, &input, &face, &result); });
    stream.synchronize();  // the body has been called now
    memory.throw_if_failed();
    throw_if_failed(status);
    records.is_for_cpu = result.is_odd;
    if (result.is_odd) return records;
    records.side = Side::kDevice;
    records.counters.assign(result.counters, result.counters + result.counter_count);
    records.size = result.size;
    records.records = result.record_count;
    records.bytes = memory.take(result.bytes);
    records.starts = memory.take(result.starts);
    return records;
}

DeviceLane::DeviceLane(const Stage& stage, const Kernel& kernel, std::shared_ptr<Context> context,
                       std::shared_ptr<MemoryManager> memory, unsigned threads)
    : stage_(stage),
      context_(std::move(context)),
      memory_(std::move(memory)),
      threads_(threads),
      program_(Program::make(stage)),
      worker_(stage, kernel, memory_) {}

void DeviceLane::make_function(std::optional<Rate> host) {
    Cost cost;
    cost.host = host;
    cost.device = kDeviceRate;
    cost.by_parts = true;
    const auto left_to_cpu = [](const RecordPage& page) {
        StagedRecords records;
        records.page = page;
        records.is_for_cpu = true;
        return records;
    };
    const auto on_device = [program = program_](DeviceStream& stream, const RecordPage& page) {
        return program->run(stream, page);
    };
    function_ = annotate<StagedRecords(RecordPage)>("stage", left_to_cpu, on_device, std::move(cost));
}

DeviceLane::~DeviceLane() = default;

bool DeviceLane::run(RecordRuns& runs, bool are_mapped, const Emit& emit) {
    const std::scoped_lock lock(mutex_);
    if (!is_chosen_) is_chosen_ = try_cpu(runs, emit);
    if (!*is_chosen_) return false;
    context_->stream<StagedRecords, RecordPage>(
        *function_, [&] { return next_page(runs, are_mapped); },
        [&](const StagedRecords& records) { take(records, emit); });
    return true;
}

// Whether the device is the faster one.
bool DeviceLane::try_cpu(RecordRuns& runs, const Emit& emit) {
    if (!context_->has_choice()) {
        make_function({});
        return true;
    }
    double seconds = 0;
    std::size_t size = 0;
    RecordRun run(memory_);
    for (int i = 0; i < kTrials && runs.next(run) && !run.bytes.empty(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        take_by_cpu(run.bytes, run.place, emit);
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        size = run.bytes.size();
    }
    if (size == 0) return false;
    const double per_byte = seconds / static_cast<double>(size) / threads_;
    make_function(Rate{0, per_byte});
    return context_->prefers_device(*function_, kPageSize, per_byte * static_cast<double>(kPageSize));
}

// Gathers runs until there are enough bytes. Those of a mapping follow one another in memory.
std::optional<RecordPage> DeviceLane::next_page(RecordRuns& runs, bool are_mapped) {
    RecordPage page;
    auto starts = std::make_shared<std::vector<PageRun>>();
    const auto copy = are_mapped ? nullptr : std::make_shared<ValueBuffer>(memory_);
    RecordRun run(memory_);
    std::size_t size = 0;
    const std::uint8_t* begin = nullptr;
    while (size < kPageSize && runs.next(run)) {
        if (run.bytes.empty()) continue;
        if (starts->empty()) {
            page.place = run.place;
            begin = run.bytes.data();
        }
        starts->push_back({size, run.place.record});
        if (copy) {
            copy->reserve(std::max(size + run.bytes.size(), kPageSize + kPageSize / 8));
            std::memcpy(copy->data() + size, run.bytes.data(), run.bytes.size());
            begin = copy->data();
        }
        size += run.bytes.size();
    }
    if (starts->empty()) return std::nullopt;
    page.last = starts->size();
    starts->push_back({size, 0});
    page.bytes = {begin, size};
    page.runs = std::move(starts);
    page.owner = copy;
    return page;
}

void DeviceLane::take_by_cpu(std::span<const std::uint8_t> bytes, Place place, const Emit& emit) {
    worker_.clear();
    for_each_block(worker_, bytes, place, stage_.max_record(), [&](const RecordBlock& block) { worker_.write(block); });
    emit({worker_.written(), worker_.starts(), worker_.counts(), bytes.size()});
    worker_.release();
}

void DeviceLane::take(const StagedRecords& records, const Emit& emit) {
    if (records.is_for_cpu) return take_by_cpu(records.page.bytes, records.page.place, emit);
    const auto* const starts = reinterpret_cast<const std::uint32_t*>(records.starts->data());
    starts_.assign(starts, starts + records.records);
    const std::span<const std::uint64_t> counters(records.counters);
    counts_ = {};
    counts_.records = counters[0];
    counts_.empty_records = counters[1];
    counts_.rules.resize((counters.size() - 2) / 5);
    for (std::size_t i = 0; i < counts_.rules.size(); ++i) {
        add_rule_counters(counters.subspan(2 + 5 * i, 5), counts_.rules[i]);
    }
    const std::uint8_t* const bytes = records.bytes ? records.bytes->data() : nullptr;
    emit({{bytes, records.size}, starts_, counts_, records.page.bytes.size()});
}

}  // namespace cleave
