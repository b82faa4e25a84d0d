// The entry point that a device module provides for running a stage; see Device::entry(). The structs are plain, and
// every compiler for a given processor lays them out the same way.
//
//   const auto* entry = static_cast<const DeviceStageEntry*>(device->entry(kDeviceStageEntry));  // null if it has none
//   entry->open(&device->face(), &program, &state);                                // once per context
//   stream.run(work, [&](void* native) { ... entry->run(state, &page, &memory, &result); });  // once per page
//   entry->close(state);
//
// Nothing here throws. Any thread may call any member; the call makes the device's card current for that thread. Only
// one thread at a time may use a state.
#pragma once

#include <cstdint>

#include "cleave/experimental/device_module.h"
#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/parse_markup.h"

namespace cleave {

// The name of the entry, which is a `const DeviceStageEntry*`. Change the number together with this file or
// FlatProgram.
inline constexpr const char* kDeviceStageEntry = "stage 4";

// Copied by open(). It holds values computed from keys. So does the state, in device memory that close() zeroes.
struct DeviceStageProgram {
    const std::uint8_t* bytes;  // a FlatProgram with its tables, from flat_for_device(), on the host
    std::uint64_t size;
    ParseMarkup markup;  // for the stage's dialect
};

// Whole records in device memory, without a header or byte order mark.
struct DeviceStagePage {
    const std::uint8_t* bytes;  // aligned to 16 bytes; readable up to `size` rounded up to a multiple of 64
    std::uint64_t size;
    void* stream;  // a cudaStream_t of the device, to which the work that writes `bytes` was submitted
};

// Where run() gets device memory. The owner releases the memory after run() has returned, even if run() failed.
struct DeviceStageMemory {
    void* owner;
    // Returns `size` > 0 bytes aligned to 256 bytes, for use on the page's stream, or null if there is no memory.
    // `flags` are those of cleave/memory_manager.h: ZEROED, where zeroing is part of the stream's work, and SECRET.
    // Must not throw.
    void* (*allocate)(void* owner, std::uint64_t size, std::uint32_t flags);
};

// The numbers of the event counters, which are stored one after another. First come the counters that cover all
// records, then for each rule, in the order of Stage::rules(), the counters of RuleCounter.
inline constexpr std::uint32_t kRecordCounter = 0;
inline constexpr std::uint32_t kEmptyRecordCounter = 1;
inline constexpr std::uint32_t kFirstRuleCounter = 2;
inline constexpr std::uint32_t kRuleCounters = 5;

// The result for a page. If needs_cpu is set, the other members are meaningless.
struct DeviceStageResult {
    bool needs_cpu;             // the page must go to the CPU, which finds a fault or writes what the device cannot
    const std::uint8_t* bytes;  // the changed records, in memory from allocate(); null if there are no bytes
    std::uint64_t size;
    const std::uint32_t* starts;    // where each record begins in `bytes`, then `size`; in memory from allocate()
    std::uint64_t record_count;     // one less than the number of starts
    const std::uint64_t* counters;  // on the host, valid until the next call with the same state
    std::uint64_t counter_count;
};

// A different size means a different layout, which needs a new number in the name.
static_assert(sizeof(FlatProgram) == 168 && sizeof(FlatPart) == 16 && sizeof(FlatRule) == 20);
static_assert(sizeof(FlatCondition) == 16 && sizeof(FlatMacState) == 64 && sizeof(ParseMarkup) == 6);
static_assert(sizeof(DeviceStageProgram) == 24 && sizeof(DeviceStageResult) == 56);

struct DeviceStageState;

struct DeviceStageEntry {
    // Sets *state to a new state. `device` is the device that provided this entry; the state may outlive it. Waits for
    // the program to be copied.
    cleave_device_status (*open)(const cleave_device* device, const DeviceStageProgram* program,
                                 DeviceStageState** state);

    // Sets *result. Waits for the stream, so the result is complete and all memory except what holds `bytes` and
    // `starts` can be released at once. If the call fails, it still waits for the stream, and *result is unset. Also
    // returns CLEAVE_DEVICE_OUT_OF_MEMORY if allocate() returned null. Sets needs_cpu for a page of 1 GiB or more, and
    // for a page whose output would be longer than 2^31 - 1 bytes.
    cleave_device_status (*run)(DeviceStageState* state, const DeviceStagePage* page, const DeviceStageMemory* memory,
                                DeviceStageResult* result);

    // Zeroes and frees the memory of the state. `state` may be null.
    void (*close)(DeviceStageState* state);
};

}  // namespace cleave
