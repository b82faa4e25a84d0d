#include "features/compressed/gzip_blob.h"

#include <libdeflate.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "cleave/error.h"
#include "core/reader/fd.h"

namespace cleave {
namespace {

// Compressed bytes that are read at once: as many as a store sends with the answer that finds an object.
constexpr std::size_t kCompressedReadSize = std::size_t{64} << 10;

// Cursors for each thread: it may read in two places at once, such as a header and a piece. One takes 0.5 MiB.
constexpr std::size_t kCursors = 2;

// Decoded bytes that are kept for each thread: about as many as lie between two starts, so that a thread that goes back
// a little decodes nothing again.
constexpr std::size_t kKept = std::size_t{3} << 20;

// Decoded bytes that a thread takes, at about this distance from where it begins. There is a start at least this often,
// unless blocks are longer.
constexpr std::uint64_t kStretch = std::uint64_t{4} << 20;

// One thread writes what they have decoded, and could not keep up with more.
constexpr unsigned kMostDecoders = 64;

}  // namespace

// Decodes parts. For one thread at a time.
class GzipBlob::Cursor {
public:
    Cursor(const Source& source, const GzipMap& map) : source_(source), map_(map) {}

    // Where it can decode on without a start. Nowhere at first.
    std::uint64_t offset() const noexcept { return reader_ ? offset_ : UINT64_MAX; }

    void begin_at(const GzipStart& start) {
        reader_ = std::make_unique<GzipReader>(start.place, start.window);
        offset_ = start.offset;
        next_byte_ = start.byte;
        compressed_ = decoded_ = {};
    }

    // Decodes up to where the next part begins, if it is within one.
    void pass_to_part() {
        const std::uint64_t passed = offset_ % map_.part_size();
        for (std::uint64_t left = passed > 0 ? map_.part_size() - passed : 0; left > 0;) left -= take(left).size();
    }

    // The part that begins here.
    std::shared_ptr<const Bytes> decode() {
        const std::uint64_t begin = offset_;
        const auto size = static_cast<std::size_t>(std::min(map_.part_size(), map_.size() - begin));
        auto bytes = std::make_shared<Bytes>();
        bytes->reserve(size);
        while (bytes->size() < size) {
            const auto taken = take(size - bytes->size());
            bytes->insert(bytes->end(), taken.begin(), taken.end());
        }
        if (::libdeflate_crc32(0, bytes->data(), size) != map_.checksum(begin / map_.part_size())) throw_damaged(begin);
        return bytes;
    }

private:
    // The next decoded bytes, at least one and at most `most`.
    std::span<const std::uint8_t> take(std::uint64_t most) {
        while (decoded_.empty()) {
            try {
                decoded_ = reader_->decode(compressed_);
            } catch (const InputError&) {
                throw_damaged(offset_);
            }
            if (decoded_.empty() && !read_compressed()) throw_damaged(offset_);
        }
        const auto bytes = decoded_.first(static_cast<std::size_t>(std::min<std::uint64_t>(most, decoded_.size())));
        decoded_ = decoded_.subspan(bytes.size());
        offset_ += bytes.size();
        return bytes;
    }

    // Adds to the compressed bytes. Returns false at the end of the file.
    bool read_compressed() {
        const std::size_t rest = compressed_.size();
        const std::size_t size = std::max(rest, kCompressedReadSize);
        const auto buffer = buffer_.grow(rest + size, compressed_);
        const std::size_t got = source_.read_at(source_.offset + next_byte_, buffer.subspan(rest, size));
        next_byte_ += got;
        compressed_ = buffer.first(rest + got);
        return got > 0;
    }

    // A file that has changed is not damaged.
    [[noreturn]] void throw_damaged(std::uint64_t offset) const {
        source_.throw_if_changed(false);
        throw InputError("the gzip data or its index is damaged: what follows byte " + std::to_string(offset) +
                         " of the text is not what was indexed; cleave index makes the index again");
    }

    const Source& source_;
    const GzipMap& map_;
    std::unique_ptr<GzipReader> reader_;
    std::uint64_t offset_ = 0;               // of the first of decoded_
    std::span<const std::uint8_t> decoded_;  // held by the reader
    UnfilledBuffer buffer_;
    std::span<const std::uint8_t> compressed_;  // in buffer_: not decoded yet
    std::uint64_t next_byte_ = 0;               // what follows them in the file
};

GzipBlob::GzipBlob(const Source& source, std::shared_ptr<const GzipMap> map)
    : FileBlob(source, map->size()), map_(std::move(map)) {}
GzipBlob::~GzipBlob() = default;

// From the start that the first part is decoded from up to where the last part ends, and what a cursor reads there.
void GzipBlob::will_read(BlobRange range) const noexcept {
    if (range.size == 0 || !source().remote) return;
    const std::uint64_t part = map_->part_size();
    const std::uint64_t end = (range.offset + range.size + part - 1) / part * part;
    const std::uint64_t from = map_->byte_before(map_->start_before(range.offset / part * part));
    const std::uint64_t to = map_->byte_before(std::min(end, size())) + kCompressedReadSize;
    const std::uint64_t most = source().size() - source().offset;
    if (from < std::min(to, most)) FileBlob::will_read({from, std::min(to, most) - from});
}

std::uint64_t GzipBlob::best_size() const noexcept {
    const unsigned threads = std::min<unsigned>(threads_, kMostDecoders);
    return threads == 1 ? FileBlob::best_size() : threads * kStretch;
}

// Stretches between two starts are read on several threads.
void GzipBlob::read(std::uint64_t offset, std::span<std::uint8_t> into) const {
    const std::uint64_t end = offset + into.size();
    std::vector<BlobRange> stretches;
    for (std::uint64_t begin = offset; begin < end; begin += stretches.back().size) {
        const bool is_long = threads_ > 1 && end - begin >= 2 * kStretch;
        stretches.push_back({begin, (is_long ? std::min(stretch_end(begin), end) : end) - begin});
    }
    parallel_for(stretches.size(), std::min<unsigned>(threads_, kMostDecoders), [&](std::size_t i) {
        const BlobRange& range = stretches[i];
        read_in_order(range.offset, into.subspan(static_cast<std::size_t>(range.offset - offset),
                                                 static_cast<std::size_t>(range.size)));
    });
}

// Where a stretch ends that begins there: at the first part that can be decoded from a start within the stretch or just
// behind it, but not before there is enough to do.
std::uint64_t GzipBlob::stretch_end(std::uint64_t begin) const {
    for (std::uint64_t end = begin + kStretch; end < size(); end += kStretch) {
        const std::uint64_t start = map_->start_before(end);
        if (start <= begin) continue;
        const std::uint64_t parts = start / map_->part_size() + (start % map_->part_size() != 0 ? 1 : 0);
        return parts * map_->part_size();
    }
    return size();
}

void GzipBlob::read_in_order(std::uint64_t offset, std::span<std::uint8_t> into) const {
    while (!into.empty()) {
        const auto bytes = part(offset / map_->part_size());
        const auto rest = std::span(*bytes).subspan(static_cast<std::size_t>(offset % map_->part_size()));
        const std::size_t size = std::min(rest.size(), into.size());
        std::copy_n(rest.begin(), size, into.begin());
        into = into.subspan(size);
        offset += size;
    }
}

// If this throws, the cursor is lost.
std::shared_ptr<const GzipBlob::Bytes> GzipBlob::part(std::uint64_t number) const {
    if (auto kept = find(number)) return kept;
    std::unique_ptr<Cursor> cursor = take(number);
    const std::uint64_t begin = number * map_->part_size();
    const std::uint64_t start = map_->start_before(begin);
    if (cursor->offset() > begin || cursor->offset() < start) cursor->begin_at(map_->start(start));
    cursor->pass_to_part();
    std::shared_ptr<const Bytes> bytes;
    while (cursor->offset() <= begin) {
        const std::uint64_t here = cursor->offset() / map_->part_size();
        bytes = cursor->decode();
        keep(here, bytes);
    }
    give_back(std::move(cursor));
    return bytes;
}

std::shared_ptr<const GzipBlob::Bytes> GzipBlob::find(std::uint64_t number) const {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find(kept_, number, &Kept::number);
    if (found == kept_.end()) return nullptr;
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().bytes;
}

void GzipBlob::keep(std::uint64_t number, std::shared_ptr<const Bytes> bytes) const {
    const MutexLock lock(mutex_);
    const std::uint64_t most = std::max<std::uint64_t>(kKept / map_->part_size(), 1) * threads_;
    if (kept_.size() >= most) kept_.erase(kept_.begin());
    kept_.push_back({number, std::move(bytes)});
}

// The idle cursor that has the least to decode up to the part; or, if all would have to begin at a start, a new one or
// the one that was not used for longest.
std::unique_ptr<GzipBlob::Cursor> GzipBlob::take(std::uint64_t number) const {
    const std::uint64_t begin = number * map_->part_size();
    const std::uint64_t start = map_->start_before(begin);
    const MutexLock lock(mutex_);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
        const std::uint64_t at = (*it)->offset();
        if (at >= start && at <= begin && (best == idle_.end() || at > (*best)->offset())) best = it;
    }
    if (best == idle_.end()) {
        if (idle_.size() < kCursors * threads_) return std::make_unique<Cursor>(source(), *map_);
        best = idle_.begin();
    }
    std::unique_ptr<Cursor> cursor = std::move(*best);
    idle_.erase(best);
    return cursor;
}

void GzipBlob::give_back(std::unique_ptr<Cursor> cursor) const {
    const MutexLock lock(mutex_);
    if (idle_.size() < kCursors * threads_) idle_.push_back(std::move(cursor));
}

}  // namespace cleave
