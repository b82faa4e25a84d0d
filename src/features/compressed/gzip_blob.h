// A gzip file with random access to the decoded bytes. Knows nothing about CSV.
//
//     decoded   |  part  |  part  |  part  |  part  |  part  |      of equal sizes, each with a checksum
//                  ^ a start           ^ a start    [   ]           from where the file can be decoded; what is asked
//                  for
//
// A part is decoded from the last start before it, together with the parts in between, and is lent only if its checksum
// is right: damage elsewhere does not matter. The last parts are kept, and so are a few cursors, which can decode on
// from where they are. Whoever reads takes the nearest cursor, so a range that is read in order is decoded once, and
// threads do not wait for each other. A long range that is asked for at once is read on several threads, each of which
// begins at a start.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "core/reader/file_blob.h"
#include "features/compressed/inflate/gzip_reader.h"

namespace cleave {

// A place in a gzip file from which it can be decoded.
struct GzipStart {
    std::uint64_t offset = 0;  // decoded bytes before it
    std::uint64_t byte = 0;    // compressed bytes before it, and `place.bit` bits
    GzipPlace place;
    std::vector<std::uint8_t> window;  // of the member: all decoded bytes before, or the last 32 KiB
};

// What is known of a gzip file. Any thread may use it.
class GzipMap {
public:
    GzipMap() = default;
    GzipMap(const GzipMap&) = delete;
    GzipMap& operator=(const GzipMap&) = delete;
    virtual ~GzipMap() = default;

    virtual std::uint64_t size() const noexcept = 0;                        // decoded
    virtual std::uint64_t part_size() const noexcept = 0;                   // decoded; the last part may be smaller
    virtual std::uint32_t checksum(std::uint64_t part) const noexcept = 0;  // CRC-32
    // The offset of the last start that is not behind `offset`.
    virtual std::uint64_t start_before(std::uint64_t offset) const noexcept = 0;
    // About how many compressed bytes lie before a decoded one: exact for a start.
    virtual std::uint64_t byte_before(std::uint64_t offset) const noexcept = 0;
    // That start. May throw.
    virtual GzipStart start(std::uint64_t offset) const = 0;
};

// `source` and the blob as for make_file_blob(). lend() also throws InputError if what is decoded is not what the map
// says, and what GzipMap::start() throws.
class GzipBlob final : public FileBlob {
public:
    GzipBlob(const Source& source, std::shared_ptr<const GzipMap> map);
    ~GzipBlob() override;

    void read(std::uint64_t offset, std::span<std::uint8_t> into) const override;
    BlobBacking backing() const noexcept override { return {}; }
    void will_read(BlobRange range) const noexcept override;

    // How many threads will read at once, so that each finds the cursor and the parts that it used last; or how many
    // one call may use. The default is 1.
    void set_threads(unsigned threads) noexcept override { threads_ = threads; }
    std::uint64_t best_size() const noexcept override;

private:
    class Cursor;
    using Bytes = std::vector<std::uint8_t>;

    struct Kept {
        std::uint64_t number = 0;
        std::shared_ptr<const Bytes> bytes;
    };

    void read_in_order(std::uint64_t offset, std::span<std::uint8_t> into) const;
    std::uint64_t stretch_end(std::uint64_t begin) const;
    std::shared_ptr<const Bytes> part(std::uint64_t number) const;
    std::shared_ptr<const Bytes> find(std::uint64_t number) const;
    void keep(std::uint64_t number, std::shared_ptr<const Bytes> bytes) const;
    std::unique_ptr<Cursor> take(std::uint64_t number) const;
    void give_back(std::unique_ptr<Cursor> cursor) const;

    std::shared_ptr<const GzipMap> map_;
    std::atomic<unsigned> threads_ = 1;
    mutable Mutex mutex_;
    // In both, what was used last comes last.
    mutable std::vector<std::unique_ptr<Cursor>> idle_ CLEAVE_GUARDED_BY(mutex_);
    mutable std::vector<Kept> kept_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
