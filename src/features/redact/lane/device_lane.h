// What applies the rules of a record lane on a device. The feature `gpu` defines it, in its folder `lane`; a build
// without it has without_gpu.cpp.
//
// If there is a choice, the CPU processes the first records to establish its speed. The device is then used if it is
// predicted to be faster, and given up if it fails or turns out to be slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cleave/blob.h"
#include "cleave/stage.h"
#include "rows/records/exact_batches.h"

namespace cleave {

class DeviceChoice;

// The CPU processes at least this many runs of records before a device is chosen for its speed. A run is a block, but
// at most 256 KiB.
constexpr std::uint64_t kRunsBeforeDevice = 272;

class DeviceLane {
public:
    struct Options {
        std::size_t batch_size = 0;  // in bytes, on the CPU
        unsigned threads = 1;        // how many threads may copy a page
    };

    DeviceLane() = default;
    DeviceLane(const DeviceLane&) = delete;
    DeviceLane& operator=(const DeviceLane&) = delete;
    virtual ~DeviceLane() = default;

    enum class Use : std::uint8_t { kUndecided, kTaken, kLeft };
    // kLeft: the CPU processes all records. Any thread.
    virtual Use use() const = 0;
    // How much work is left, and how fast it would go without the device.
    struct Prospect {
        std::uint64_t size = 0;       // bytes
        double seconds_per_byte = 0;  // on the CPU
        double reading_per_byte = 0;  // seconds per byte to read a page, if reading holds the device up
        bool is_final = true;         // a decision against the device is final
    };
    // Decides whether to use the device, unless that has already been decided. Any thread.
    virtual void decide(const Prospect& prospect) = 0;

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        const StageCounts& counts;              // for these records
        std::uint64_t offset = 0;               // where the original records are in the input
        std::span<const std::uint8_t> input;    // the original records
        bool is_by_device = false;              // by the device rather than the CPU
    };
    using Emit = std::function<void(const Written& written)>;

    // Passes on the changed records of the batches, or of a range of a mapped blob that begins and ends with a record,
    // where the ends of batches are guessed. Returns false if the CPU should process the remaining records. Any thread;
    // a second call waits for the first. Throws what reading, StageWorker and `emit` throw, DoubtfulBatch, MemoryError
    // and, if there is no choice, DeviceError.
    virtual bool run(ExactBatches& batches, const Emit& emit) = 0;
    virtual bool run(const Blob& blob, BlobRange range, const Emit& emit) = 0;
};

// `stage`, `kernel` and `choice` must outlive the lane.
std::unique_ptr<DeviceLane> make_device_lane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice,
                                             std::shared_ptr<MemoryManager> memory, const DeviceLane::Options& options);

}  // namespace cleave
