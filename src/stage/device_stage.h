// Runs a stage on a device: the entry point that a device module gives for it, see Device::entry(). Plain structs,
// whose layout is the same for every compiler of a processor.
//
//   const auto* entry = static_cast<const DeviceStageEntry*>(device->entry(kDeviceStageEntry));  // null: it has none
//   entry->open(&device->face(), &program, &state);                                // once for a context
//   stream.run(work, [&](void* native) { ... entry->run(state, &page, &memory, &result); });  // for each page
//   entry->close(state);
//
// Nothing here throws. Each member may be called by any thread, and makes the card of the device current for that
// thread. A state is used by one thread at a time.
#pragma once

#include <cstdint>

#include "cleave/device_module.h"
#include "stage/flat_program.h"
#include "stage/parse_markup.h"

namespace cleave {

// The name of the entry, for a `const DeviceStageEntry*`. Change the number with this file or with FlatProgram.
inline constexpr const char* kDeviceStageEntry = "stage 3";

// Copied by open(). It has what was computed from keys, and so has the state, in memory of the device that is zeroed by
// close().
struct DeviceStageProgram {
    const std::uint8_t* bytes;  // a FlatProgram with its tables, as flat_for_device() makes it, on the host
    std::uint64_t size;
    ParseMarkup markup;  // of the stage's dialect
};

// Whole records, without a header and without a byte order mark, in memory of the device.
struct DeviceStagePage {
    const std::uint8_t* bytes;  // at a multiple of 16; `size` rounded up to a multiple of 64 may be read
    std::uint64_t size;
    void* stream;  // a cudaStream_t of the device. What writes `bytes` was submitted to it
};

// Where run() takes memory of the device. The owner of the memory releases it, after run() has returned; also if run()
// failed.
struct DeviceStageMemory {
    void* owner;
    // Memory of `size` > 0 bytes, to be used on the stream of the page, at a multiple of 256. `flags` are those of
    // cleave/memory_manager.h: ZEROED in the order of the stream, SECRET. Null if there is none. Does not throw.
    void* (*allocate)(void* owner, std::uint64_t size, std::uint32_t flags);
};

// Events that are counted, one after another: those of all records, then those of RuleCounter for each rule, in the
// order of Stage::rules().
inline constexpr std::uint32_t kRecordCounter = 0;
inline constexpr std::uint32_t kEmptyRecordCounter = 1;
inline constexpr std::uint32_t kFirstRuleCounter = 2;
inline constexpr std::uint32_t kRuleCounters = 5;

// What became of a page. If it is odd, there is nothing else.
struct DeviceStageResult {
    bool needs_cpu;             // the page is for the CPU, which finds a fault, or writes what the device cannot
    const std::uint8_t* bytes;  // the changed records; memory of allocate(), or null if there are no bytes
    std::uint64_t size;
    const std::uint32_t* starts;    // where each record begins in `bytes`, and `size`; memory of allocate()
    std::uint64_t record_count;     // one less than there are starts
    const std::uint64_t* counters;  // on the host, until the next call with the state
    std::uint64_t counter_count;
};

// Another size is another layout, and needs another number in the name.
static_assert(sizeof(FlatProgram) == 168 && sizeof(FlatPart) == 16 && sizeof(FlatRule) == 20);
static_assert(sizeof(FlatCondition) == 16 && sizeof(FlatMacState) == 64 && sizeof(ParseMarkup) == 6);
static_assert(sizeof(DeviceStageProgram) == 24 && sizeof(DeviceStageResult) == 56);

struct DeviceStageState;

struct DeviceStageEntry {
    // Sets *state to a new state. `device` gave this entry; the state may live longer. Waits for the copy of the
    // program.
    cleave_device_status (*open)(const cleave_device* device, const DeviceStageProgram* program,
                                 DeviceStageState** state);

    // Sets *result. Waits for the stream: the result is complete, and all memory but that of `bytes` and `starts` can
    // be released at once. After a fault *result is unset, and the stream has been waited for too;
    // CLEAVE_DEVICE_OUT_OF_MEMORY also if allocate() returned null. A page of 1 GiB or
    // more, and one that becomes longer than 2^31 - 1 bytes, is odd.
    cleave_device_status (*run)(DeviceStageState* state, const DeviceStagePage* page, const DeviceStageMemory* memory,
                                DeviceStageResult* result);

    // Zeroes and frees the memory of the state. Null is allowed.
    void (*close)(DeviceStageState* state);
};

}  // namespace cleave
