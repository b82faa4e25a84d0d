// Reads a gzip stream on several threads, with the bytes and the errors of GzipReader.
//
// ChunkQueue decodes chunks from guessed starts. What it returns is taken only if
//
// - the chunk was decoded from exactly the bit at which the chunk before ended, between two blocks or two members; the
//   first chunk from the first bit of the stream;
// - no reference goes back beyond its member;
// - the checksum and the size of each member that ends in it are right.
//
// So it is what GzipReader would have decoded. Wherever one of these does not hold, whether because a guess was wrong,
// because no guess was possible, or because the data is damaged, a GzipReader reads on in order, until a later chunk
// begins exactly where it is. It also reports all errors. The outcome therefore does not depend on threads or guesses;
// only the time does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "features/compressed/inflate/chunk_queue.h"
#include "features/compressed/inflate/gzip_reader.h"

namespace cleave {

// For one thread at a time.
class ParallelGzip {
public:
    // Fills the front of a span with the next compressed bytes, and returns how many; 0 only at the end. May throw.
    using Source = std::function<std::size_t(std::span<std::uint8_t>)>;

    // Compressed bytes of a chunk.
    static constexpr std::size_t kLeastChunk = std::size_t{64} << 10;
    static constexpr std::size_t kMostChunk = std::size_t{1} << 20;

    // Continues where `reader` is, with the next bytes from the source. `threads` includes the calling one. A
    // `chunk_size` other than 0 is for tests, and at least 1 KiB, so that the head of a block fits; otherwise, it
    // follows the data. Throws std::bad_alloc.
    ParallelGzip(std::unique_ptr<GzipReader> reader, Source source, unsigned threads, std::size_t chunk_size = 0);

    // The next bytes, valid until the next call; empty at the end. Throws InputError without a place, which place()
    // then tells; what the source throws; std::bad_alloc.
    std::span<const std::uint8_t> read();

    // The places that the last read() has passed, in order, whatever the threads. Bit 0 is the first from the source.
    std::span<const PassedPlace> places() const noexcept { return places_; }

    // At the end: whether the stream is complete.
    bool is_whole() const noexcept { return is_whole_; }

    // The compressed byte at which an error was found, or the stream ends; the first one from the source is 0.
    std::uint64_t place() const noexcept { return place_; }

private:
    void read_ahead();
    bool read_slot();
    std::span<const std::uint8_t> take_front(ChunkSlot& slot);
    bool is_sound(const ChunkSlot& slot);
    void begin_in_order();
    std::span<const std::uint8_t> read_in_order();
    std::span<const std::uint8_t> decode_in_order(std::span<const std::uint8_t> from);
    bool rejoin();
    void drop_passed(std::uint64_t byte);
    void pass_places(std::span<const PassedPlace> places, std::uint64_t first);

    Source source_;
    bool is_chunk_size_fixed_;
    std::size_t chunk_size_;
    bool is_at_end_ = false;  // of the source
    std::uint64_t read_ = 0;  // bytes from the source
    std::vector<PassedPlace> places_;
    std::unique_ptr<ChunkSlot> last_;  // read, but without the bytes of the chunk that follows
    bool is_whole_ = false;
    std::uint64_t place_ = 0;

    // After what read() has returned, unless a reader is at work.
    ChunkLink link_;
    GzipPlace here_;
    bool is_front_used_ = false;  // the first chunk of the queue was returned, or is of no use

    std::unique_ptr<GzipReader> reader_;
    std::uint64_t reader_at_ = 0;  // the compressed byte at which it continues
    ChunkQueue queue_;             // last: its threads stop before the rest is gone
};

}  // namespace cleave
