// Pages of records, and the output of a stage for them, as values for cleave/experimental/device_context.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "cleave/experimental/device.h"
#include "cleave/experimental/split_type.h"
#include "cleave/memory.h"

namespace cleave {

// A batch of whole records in a page.
struct PageBatch {
    std::size_t begin = 0;  // in the bytes of the page as it was gathered
    std::uint64_t record = 0;
};

// Whole records: the batches from `first` to `last`. Copies of a page are views of the same bytes.
//
// The batches of a page may be guessed (see records/batch.h). In that case records have no numbers, and a fault in the
// page means that the guess is doubtful. If all pages before it are sound, the page begins with a record. A page is
// sound if it has no fault and its last record has a terminator, which only the last record of the input may lack.
struct RecordPage {
    std::span<const std::uint8_t> bytes;  // the bytes of these batches, on the host
    Place place;                          // of the first record
    bool is_guessed = false;
    bool is_last = false;  // for a guessed page: the input ends with it
    // The batches of the page as it was gathered, and one more that begins where the page ends.
    std::shared_ptr<const std::vector<PageBatch>> batches;
    std::size_t first = 0;
    std::size_t last = 0;
    std::shared_ptr<const void> owner;  // of the bytes; null if they are in a mapping, which other processes may change
    bool is_pinned = false;             // the bytes are in pinned memory
    bool is_for_cpu = false;            // the device would miss a fault in the bytes
    std::shared_ptr<const Memory> on_device;  // the same bytes; null on the host
};

// What a stage wrote. On the device, only `page` and `is_for_cpu` may be used.
struct RewrittenPage {
    RecordPage page;
    bool is_for_cpu = false;              // nothing was written
    std::vector<std::uint64_t> counters;  // described in features/gpu/lane/device_stage.h
    std::size_t size = 0;                 // bytes written
    std::size_t records = 0;
    std::shared_ptr<const Memory> bytes;   // the `size` bytes
    std::shared_ptr<const Memory> starts;  // std::uint32_t elements: where each record begins in `bytes`
    Side side = Side::kHost;
};

template <>
struct SplitType<RecordPage> {
    static Side device(const RecordPage& page) { return page.on_device ? Side::kDevice : Side::kHost; }
    static std::uint64_t bytes(const RecordPage& page) { return page.bytes.size(); }
    static bool is_pinned(const RecordPage& page) { return page.is_pinned; }
    static RecordPage to(const RecordPage& page, Side side, DeviceStream& stream);
    static std::uint64_t size(const RecordPage& page) { return page.last - page.first; }
    static RecordPage split(const RecordPage& page, std::uint64_t begin, std::uint64_t end);
    static RecordPage merge(std::span<const RecordPage* const> parts, MemoryManager& memory);
};

template <>
struct SplitType<RewrittenPage> {
    static Side device(const RewrittenPage& records) { return records.side; }
    static std::uint64_t bytes(const RewrittenPage& records) {
        return records.size + records.records * sizeof(std::uint32_t);
    }
    static RewrittenPage to(const RewrittenPage& records, Side side, DeviceStream& stream);
};

}  // namespace cleave
