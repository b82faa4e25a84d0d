#include "features/gpu/lane/record_page.h"

#include "cleave/error.h"

namespace cleave {
namespace {

// Kernels read complete 64-byte steps.
constexpr std::size_t kStep = 64;

std::shared_ptr<const Memory> moved_out(const std::shared_ptr<const Memory>& from, std::size_t size,
                                        DeviceStream& stream) {
    if (!from || size == 0) return nullptr;
    std::shared_ptr<Memory> to = stream.borrow_host(size);
    stream.copy_out(to->data(), from->data(), size);
    return to;
}

}  // namespace

RecordPage SplitType<RecordPage>::to(const RecordPage& page, Side side, DeviceStream& stream) {
    RecordPage moved = page;
    moved.on_device.reset();
    if (side == Side::kHost) return moved;  // its bytes are also on the host
    auto memory = std::make_shared<Memory>(stream.allocate((page.bytes.size() + kStep - 1) / kStep * kStep));
    stream.copy_in(memory->data(), page.bytes.data(), page.bytes.size(), page.is_pinned);
    moved.on_device = std::move(memory);
    return moved;
}

RecordPage SplitType<RecordPage>::split(const RecordPage& page, std::uint64_t begin, std::uint64_t end) {
    const std::vector<PageBatch>& runs = *page.batches;
    RecordPage part = page;
    part.first = page.first + begin;
    part.last = page.first + end;
    const std::size_t offset = runs[part.first].begin - runs[page.first].begin;
    part.bytes = page.bytes.subspan(offset, runs[part.last].begin - runs[part.first].begin);
    part.is_last = page.is_last && part.last == page.last;
    part.place = {page.place.offset + offset, runs[part.first].record};
    return part;
}

RecordPage SplitType<RecordPage>::merge(std::span<const RecordPage* const> /*parts*/, MemoryManager& /*memory*/) {
    throw LogicError("pages of records are not merged");  // no function returns them
}

RewrittenPage SplitType<RewrittenPage>::to(const RewrittenPage& records, Side side, DeviceStream& stream) {
    if (side != Side::kHost) throw LogicError("what a stage wrote does not go back to the device");
    RewrittenPage moved = records;
    moved.side = Side::kHost;
    moved.page = SplitType<RecordPage>::to(records.page, Side::kHost, stream);
    if (records.is_for_cpu) return moved;
    moved.bytes = moved_out(records.bytes, records.size, stream);
    moved.starts = moved_out(records.starts, records.records * sizeof(std::uint32_t), stream);
    return moved;
}

}  // namespace cleave
