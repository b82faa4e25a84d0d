// A stage that is ready to run on a device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cleave/experimental/device.h"
#include "cleave/stage.h"
#include "features/gpu/lane/device_stage.h"
#include "features/gpu/lane/record_page.h"
#include "features/redact/stage/parse_markup.h"
#include "rows/memory/secret_memory.h"

namespace cleave {

// For one thread at a time, and one device.
class DeviceProgram {
public:
    // Returns null if the stage can only run on the CPU.
    static std::shared_ptr<DeviceProgram> make(const Stage& stage);
    DeviceProgram(const DeviceProgram&) = delete;
    DeviceProgram& operator=(const DeviceProgram&) = delete;
    ~DeviceProgram();

    // Whether records with these bytes must be left to the CPU because the stage might refuse them for a reason that
    // devices do not check. Any thread.
    bool is_for_cpu(std::span<const std::uint8_t> bytes) const noexcept;

    // Runs the stage on a page that is on the device. Waits for the stream. Throws DeviceError.
    RewrittenPage run(DeviceStream& stream, const RecordPage& page);

private:
    DeviceProgram(SecretMemory flat, const ParseMarkup& markup) : flat_(std::move(flat)), markup_(markup) {}

    bool open(Device& device);  // false if the device has no stages

    SecretMemory flat_;
    std::optional<std::uint8_t> quote_;  // set if a backslash before this byte is refused
    bool has_keys_ = false;
    const ParseMarkup markup_;
    const DeviceStageEntry* entry_ = nullptr;
    DeviceStageState* state_ = nullptr;
};

}  // namespace cleave
