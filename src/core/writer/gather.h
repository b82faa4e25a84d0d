// Writes pieces that consist of many parts of the input.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/meter.h"
#include "core/reader/copy.h"
#include "core/writer/piece_target.h"

namespace cleave {

// For one thread at a time. Collects small parts in a 256 KiB buffer.
class Gatherer {
public:
    // The arguments must outlive this object; `cancellation` and `meter` may be null.
    Gatherer(const Blob& blob, const Cancellation* cancellation, Meter* meter)
        : blob_(blob), cancellation_(cancellation), meter_(meter) {}

    // Writes the parts to the output, one after another. The first `header_size` bytes are the header; the meter counts
    // the bytes after it. Throws what Blob::lend() and the output throw, Cancelled.
    void write(std::span<const BlobRange> parts, std::uint64_t header_size, PieceOutput& output);

private:
    void put(std::span<const std::uint8_t> bytes, PieceOutput& output);
    void flush(PieceOutput& output);

    const Blob& blob_;
    const Cancellation* cancellation_;
    Meter* meter_;
    std::uint64_t uncounted_ = 0;  // bytes of the header that are not written yet
    std::vector<std::uint8_t> buffer_;
    std::vector<std::uint8_t> lent_;
};

}  // namespace cleave
