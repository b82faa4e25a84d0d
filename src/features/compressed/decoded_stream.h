// Who sees what is decoded of a stream: see core/reader/stream_decoder.h.
#pragma once

#include <cstdint>
#include <span>

#include "features/compressed/inflate/gzip_reader.h"

namespace cleave {

// Sees what is decoded of a gzip stream.
class DecodeObserver {
public:
    DecodeObserver() = default;
    DecodeObserver(const DecodeObserver&) = delete;
    DecodeObserver& operator=(const DecodeObserver&) = delete;
    virtual ~DecodeObserver() = default;
    // The next bytes, perhaps none, and the places among them; their bits count from the beginning of the stream.
    virtual void decoded(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places) = 0;
};

}  // namespace cleave
