// Notes what the index of a gzip file says about it, while the file is decoded for another purpose. Where checkpoints
// are depends on the file alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cleave/index_file.h"
#include "features/compressed/decoded_stream.h"

namespace cleave {

// For one thread at a time. It must observe the stream from its beginning.
class GzipNotes final : public DecodeObserver {
public:
    // Windows are packed on that many threads.
    explicit GzipNotes(unsigned threads) : threads_(threads) {}

    // Throws std::bad_alloc.
    void decoded(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places) override;

    // At the end: what was noted, except for the size of the file.
    GzipIndex take();

private:
    void pass(std::span<const std::uint8_t> bytes);
    void end_part();
    bool is_checkpoint(std::uint64_t offset, std::uint64_t bit) const noexcept;
    void add_checkpoint(const PassedPlace& place, std::span<const std::uint8_t> bytes);
    void pack_windows();

    unsigned threads_;
    GzipIndex notes_;
    std::size_t packed_ = 0;  // how many of the checkpoints have their windows as they are stored
    std::uint64_t offset_ = 0;
    std::uint64_t last_offset_ = 0, last_bit_ = 0;  // of the last checkpoint, or of the beginning
    std::uint64_t member_size_ = 0;                 // of the member so far
    std::uint32_t member_checksum_ = 0;
    std::uint32_t checksum_ = 0;      // of the part so far
    std::vector<std::uint8_t> last_;  // at most a window, from before the bytes passed to decoded()
};

}  // namespace cleave
