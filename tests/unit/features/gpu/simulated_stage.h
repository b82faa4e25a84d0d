// The stages of a simulated device: a CPU StageWorker reads pages from the device's memory and writes to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "cleave/stage.h"

namespace cleave {

// The stage that every simulated device runs. Only one may exist at a time. The entry can be found while the stage
// exists, and everything opened through the entry must be closed before the stage is destroyed.
class SimulatedStage {
public:
    explicit SimulatedStage(Stage stage);
    SimulatedStage(const SimulatedStage&) = delete;
    SimulatedStage& operator=(const SimulatedStage&) = delete;
    ~SimulatedStage();

    // For SimulatedOptions::entries.
    static const void* entry();

    // Set these before the device is used.
    std::string odd_text;                // pages with this text are left to the CPU; empty: no page
    unsigned repetitions = 1;            // how often the work of each page is done
    std::function<void()> on_next_page;  // called before each page's work

    const Stage& stage() const { return stage_; }
    void set_stage(const Stage& stage) { stage_ = stage; }   // while nothing is open
    std::uint64_t pages() const { return pages_.load(); }    // given to the device
    std::uint64_t states() const { return states_.load(); }  // currently open

private:
    friend struct SimulatedStageWork;

    Stage stage_;
    std::atomic<std::uint64_t> pages_{0};
    std::atomic<std::uint64_t> states_{0};
};

}  // namespace cleave
