#include "simulated_stage.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "cleave/kernel.h"
#include "cleave/memory_manager.h"
#include "features/gpu/lane/device_stage.h"

namespace cleave {
namespace {

// The entry is a table of plain functions, which find the stage here.
SimulatedStage* current = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): see above

}  // namespace

struct DeviceStageState {
    explicit DeviceStageState(const Stage& stage) : worker(stage, default_kernel()) {}

    StageWorker worker;
    std::vector<std::uint64_t> counters;
};

struct SimulatedStageWork {
    static cleave_device_status open(const cleave_device* /*device*/, const DeviceStageProgram* /*program*/,
                                     DeviceStageState** state) {
        if (current == nullptr) std::abort();
        *state = new DeviceStageState(current->stage());
        ++current->states_;
        return {};
    }

    static void close(DeviceStageState* state) {
        if (state == nullptr) return;
        delete state;
        --current->states_;
    }

    static cleave_device_status run(DeviceStageState* state, const DeviceStagePage* page,
                                    const DeviceStageMemory* memory, DeviceStageResult* result) {
        ++current->pages_;
        if (current->on_next_page) current->on_next_page();
        const std::span bytes(page->bytes, page->size);
        const std::string_view text(reinterpret_cast<const char*>(page->bytes), page->size);
        *result = {};
        result->needs_cpu = !current->odd_text.empty() && text.find(current->odd_text) != std::string_view::npos;
        if (result->needs_cpu) return {};
        try {
            for (unsigned i = 0; i < current->repetitions; ++i) {
                state->worker.clear();
                state->worker.write(state->worker.read(bytes, {}, true));
            }
        } catch (const InputError&) {
            result->needs_cpu = true;
            return {};
        }
        count(*state);
        return hand_over(*state, *memory, *result);
    }

private:
    static void count(DeviceStageState& state) {
        const StageCounts& counts = state.worker.counts();
        state.counters = {counts.records, counts.empty_records};
        for (const RuleCounts& rule : counts.rules) {
            for (const std::uint64_t count : {rule.seen, rule.changed, rule.kept, rule.empty, rule.condition_false}) {
                state.counters.push_back(count);
            }
        }
    }

    static cleave_device_status hand_over(const DeviceStageState& state, const DeviceStageMemory& memory,
                                          DeviceStageResult& result) {
        const std::span<const std::uint8_t> written = state.worker.written();
        const std::span<const std::uint64_t> starts = state.worker.starts();
        std::vector<std::uint32_t> narrow(starts.begin(), starts.end());
        narrow.push_back(static_cast<std::uint32_t>(written.size()));
        const std::size_t size = narrow.size() * sizeof narrow[0];
        void* const on_device = memory.allocate(memory.owner, size, CLEAVE_MEMORY_SECRET);
        void* const text = written.empty() ? nullptr : memory.allocate(memory.owner, written.size(), 0);
        if (on_device == nullptr || (text == nullptr && !written.empty())) return {CLEAVE_DEVICE_OUT_OF_MEMORY, {}};
        std::memcpy(on_device, narrow.data(), size);
        if (text != nullptr) std::memcpy(text, written.data(), written.size());
        result.bytes = static_cast<const std::uint8_t*>(text);
        result.size = written.size();
        result.starts = static_cast<const std::uint32_t*>(on_device);
        result.record_count = starts.size();
        result.counters = state.counters.data();
        result.counter_count = state.counters.size();
        return {};
    }
};

SimulatedStage::SimulatedStage(Stage stage) : stage_(std::move(stage)) {
    if (current != nullptr) std::abort();
    current = this;
}

SimulatedStage::~SimulatedStage() {
    if (states_.load() != 0) std::abort();
    current = nullptr;
}

const void* SimulatedStage::entry() {
    static constexpr DeviceStageEntry kEntry{&SimulatedStageWork::open, &SimulatedStageWork::run,
                                             &SimulatedStageWork::close};
    return &kEntry;
}

}  // namespace cleave
