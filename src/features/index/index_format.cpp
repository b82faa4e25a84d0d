// The bytes of an index, as described in doc/guide/index.md. Only this file knows the offsets of the members.
//
//   128 bytes    head; 144 in the index of a gzip file, which is of version 2
//   16 each      entries: offset, record
//   ...          of a gzip file only: see gzip_format.h
//   16 bytes     end: size of the whole index, zero, CRC32C of everything before it but windows
//
// All numbers are little-endian. The CRC reveals damaged bytes, and the size reveals missing ones. Windows have CRCs of
// their own, so that an index of gigabytes need not be read in full.
#define XXH_INLINE_ALL  // compiles the hash in; no library is linked
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "cleave/error.h"
#include "cleave/index_file.h"
#include "core/dialect/check_arguments.h"
#include "features/index/gzip_format.h"
#include "features/index/numbers.h"

namespace cleave {
namespace {

// A byte that no text contains, the name, and line breaks that a transfer in text mode would change.
constexpr std::array<std::uint8_t, 8> kMagic = {0x89, 'C', 'L', 'V', '\r', '\n', 0x1A, '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kGzipVersion = 2;
constexpr std::size_t kHeadSize = 128;
constexpr std::size_t kGzipHeadSize = kMostHeadSize;
constexpr std::size_t kEntrySize = 16;

// Offsets of the members in the head.
constexpr std::size_t kAtMagic = 0;
constexpr std::size_t kAtVersion = 8;  // four bytes, like kAtHeadSize
constexpr std::size_t kAtHeadSize = 12;
constexpr std::size_t kAtDialect = 16;
constexpr std::size_t kAtSize = 24;
constexpr std::size_t kAtMtime = 32;
constexpr std::size_t kAtCtime = 40;
constexpr std::size_t kAtInode = 48;
constexpr std::size_t kAtHeaderSize = 56;
constexpr std::size_t kAtHeaderRecords = 64;
constexpr std::size_t kAtRecords = 72;
constexpr std::size_t kAtStep = 80;
constexpr std::size_t kAtDivergenceOffset = 88;
constexpr std::size_t kAtDivergenceRecord = 96;
constexpr std::size_t kAtEntryCount = 112;  // the 8 bytes before it once held a hash; they are not read
constexpr std::size_t kAtReserved = 120;
constexpr std::size_t kAtFileSize = 128;  // of a gzip file, as is the next one
constexpr std::size_t kAtCheckpointCount = 136;

// Replaces the offset and the record if the quote modes do not diverge.
constexpr std::uint64_t kNowhere = UINT64_MAX;

std::uint64_t count_of_entries(const IndexHead& head) { return head.size / head.step + (head.size % head.step != 0); }

std::uint64_t count_of_checksums(const IndexHead& head) {
    return head.size / kGzipPart + (head.size % kGzipPart != 0 ? 1 : 0);
}

// Whether there can be a file with such a head.
bool is_sound(const IndexHead& head) {
    if (head.step == 0 || head.step > kMaxBlockSize) return false;
    if (head.records > head.size || head.header_records > head.records || head.header_size > head.size) return false;
    if ((head.size == 0) != (head.records == 0)) return false;
    const auto& divergence = head.divergence;
    return !divergence || (divergence->offset < head.size && divergence->record < head.records);
}

// Whether the entry can have this number and follow the entry `before`.
bool is_sound(const IndexHead& head, std::uint64_t number, Boundary entry, Boundary before) {
    if (entry.offset < number * head.step || entry.offset > head.size || entry.record > head.records) return false;
    if ((entry.offset == head.size) != (entry.record == head.records)) return false;
    if (number == 0) return entry == Boundary{};
    return entry.offset == before.offset
               ? entry.record == before.record
               : entry.offset > before.offset && entry.record > before.record &&
                     before.offset < number * head.step;  // otherwise `before` would be the same as this entry
}

// Of an index without its last four bytes: of everything before `windows` and of the end.
std::uint32_t crc_of(std::span<const std::uint8_t> bytes, std::size_t windows) {
    Crc32c crc;
    crc.add(bytes.first(windows));
    crc.add(bytes.last(kEndSize - 4));
    return crc.value();
}

IndexHead load_head(std::span<const std::uint8_t> bytes) {
    IndexHead head;
    head.dialect_digest = load_64(bytes, kAtDialect);
    head.size = load_64(bytes, kAtSize);
    head.mtime_ns = static_cast<std::int64_t>(load_64(bytes, kAtMtime));
    head.ctime_ns = static_cast<std::int64_t>(load_64(bytes, kAtCtime));
    head.inode = load_64(bytes, kAtInode);
    head.header_size = load_64(bytes, kAtHeaderSize);
    head.header_records = load_64(bytes, kAtHeaderRecords);
    head.records = load_64(bytes, kAtRecords);
    head.step = load_64(bytes, kAtStep);
    const Place divergence{load_64(bytes, kAtDivergenceOffset), load_64(bytes, kAtDivergenceRecord)};
    if (divergence != Place{kNowhere, kNowhere}) head.divergence = divergence;
    return head;
}

}  // namespace

std::vector<std::uint8_t> encode_index(const IndexContents& contents) {
    const IndexHead& head = contents.head;
    const bool has_checksums = !contents.gzip || contents.gzip->checksums.size() == count_of_checksums(head);
    if (!is_sound(head) || contents.entries.size() != count_of_entries(head) || !has_checksums) {
        throw ArgumentError("index: no file has these contents");
    }
    const std::size_t head_size = contents.gzip ? kGzipHeadSize : kHeadSize;
    std::vector<std::uint8_t> bytes(head_size + contents.entries.size() * kEntrySize);
    const Place divergence = head.divergence.value_or(Place{kNowhere, kNowhere});
    std::ranges::copy(kMagic, bytes.begin() + kAtMagic);
    store(bytes, kAtVersion, contents.gzip ? kGzipVersion : kVersion);
    store(bytes, kAtHeadSize, static_cast<std::uint32_t>(head_size));
    store(bytes, kAtDialect, head.dialect_digest);
    store(bytes, kAtSize, head.size);
    store(bytes, kAtMtime, static_cast<std::uint64_t>(head.mtime_ns));
    store(bytes, kAtCtime, static_cast<std::uint64_t>(head.ctime_ns));
    store(bytes, kAtInode, head.inode);
    store(bytes, kAtHeaderSize, head.header_size);
    store(bytes, kAtHeaderRecords, head.header_records);
    store(bytes, kAtRecords, head.records);
    store(bytes, kAtStep, head.step);
    store(bytes, kAtDivergenceOffset, divergence.offset);
    store(bytes, kAtDivergenceRecord, divergence.record);
    store(bytes, kAtEntryCount, std::uint64_t{contents.entries.size()});
    Boundary before;
    for (std::size_t i = 0; i < contents.entries.size(); ++i) {
        const Boundary& entry = contents.entries[i];
        if (!is_sound(head, i, entry, before)) throw ArgumentError("index: no file has these entries");
        store(bytes, head_size + i * kEntrySize, entry.offset);
        store(bytes, head_size + i * kEntrySize + 8, entry.record);
        before = entry;
    }
    std::size_t windows = bytes.size();
    if (contents.gzip) {
        store(bytes, kAtFileSize, contents.gzip->file_size);
        store(bytes, kAtCheckpointCount, std::uint64_t{contents.gzip->checkpoints.size()});
        windows = append_gzip(head.size, *contents.gzip, bytes);
    }
    const std::size_t end = bytes.size();
    bytes.resize(end + kEndSize);
    store(bytes, end, std::uint64_t{bytes.size()});
    store(bytes, end + 12, crc_of(std::span(bytes).first(end + 12), windows));
    return bytes;
}

bool IndexView::begins_as_index(std::span<const std::uint8_t> bytes) noexcept {
    return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

std::uint64_t size_without_windows(std::span<const std::uint8_t> head, std::uint64_t size) {
    const bool is_gzip =
        head.size() >= kGzipHeadSize && size >= kGzipHeadSize && load<std::uint32_t>(head, kAtVersion) == kGzipVersion;
    const std::uint64_t step = is_gzip ? load_64(head, kAtStep) : 0;
    if (step == 0) return size;
    const IndexHead about = load_head(head);
    const std::uint64_t checkpoints = load_64(head, kAtCheckpointCount);
    if (count_of_entries(about) > size || checkpoints > size) return size;
    return std::min(size, kGzipHeadSize + count_of_entries(about) * kEntrySize +
                              count_of_checksums(about) * kChecksumSize + checkpoints * kCheckpointSize + kEndSize);
}

IndexView::IndexView(std::span<const std::uint8_t> bytes) : IndexView(bytes, 0) {}

IndexView::IndexView(std::span<const std::uint8_t> bytes, std::uint64_t windows_size)
    : bytes_(bytes), windows_size_(windows_size) {
    if (!begins_as_index(bytes)) throw IndexError("not an index made by cleave");
    // Check the version before the layout, because other versions may have a different layout. If a damaged byte makes
    // the index look like a different version, it is rejected all the same.
    if (bytes.size() < kHeadSize + kEndSize) throw_damaged_index();
    const auto version = load<std::uint32_t>(bytes, kAtVersion);
    if (version != kVersion && version != kGzipVersion) {
        throw IndexError("it is of version " + std::to_string(version) + " of the format");
    }
    const bool is_gzip = version == kGzipVersion;
    head_size_ = is_gzip ? kGzipHeadSize : kHeadSize;
    if (bytes.size() < head_size_ + kEndSize) throw_damaged_index();
    const std::size_t end = bytes.size() - kEndSize;
    if (load_64(bytes, end) != bytes.size() + windows_size || load<std::uint32_t>(bytes, end + 8) != 0)
        throw_damaged_index();
    // How many entries and checkpoints there are must be known to find out which bytes the CRC is of.
    head_ = load_head(bytes);
    if (load<std::uint32_t>(bytes, kAtHeadSize) != head_size_ || load_64(bytes, kAtReserved) != 0 || !is_sound(head_) ||
        load_64(bytes, kAtEntryCount) != count_of_entries(head_)) {
        throw_damaged_index();
    }
    std::uint64_t left = end - head_size_;
    const auto take = [&](std::uint64_t count, std::size_t size) {
        if (count > left / size) throw_damaged_index();
        left -= count * size;
        return static_cast<std::size_t>(count);
    };
    entry_count_ = take(count_of_entries(head_), kEntrySize);
    if (is_gzip) {
        checksums_at_ = head_size_ + entry_count_ * kEntrySize;
        checkpoints_at_ = checksums_at_ + take(count_of_checksums(head_), kChecksumSize) * kChecksumSize;
        checkpoint_count_ = take(load_64(bytes, kAtCheckpointCount), kCheckpointSize);
    } else if (left != 0) {
        throw_damaged_index();
    }
    if (windows_size != 0 && left != 0) throw_damaged_index();
    const std::size_t windows = end - static_cast<std::size_t>(left);
    if (load<std::uint32_t>(bytes, end + 12) != crc_of(bytes.first(end + 12), windows)) throw_damaged_index();

    // A file with the right CRC may still have been forged.
    Boundary before;
    for (std::size_t i = 0; i < entry_count_; ++i) {
        const Boundary here = entry(i);
        if (!is_sound(head_, i, here, before)) throw_damaged_index();
        before = here;
    }
    if (is_gzip)
        check_checkpoints(bytes.subspan(checkpoints_at_, windows - checkpoints_at_), left + windows_size, head_.size,
                          file_size());
}

Boundary IndexView::entry(std::size_t number) const noexcept {
    const std::size_t at = head_size_ + number * kEntrySize;
    return {load_64(bytes_, at), load_64(bytes_, at + 8)};
}

std::uint64_t IndexView::file_size() const noexcept { return load_64(bytes_, kAtFileSize); }

std::uint32_t IndexView::checksum(std::size_t number) const noexcept {
    return load<std::uint32_t>(bytes_, checksums_at_ + number * kChecksumSize);
}

std::uint64_t IndexView::checkpoint_offset(std::size_t number) const noexcept {
    return load_64(bytes_, checkpoints_at_ + number * kCheckpointSize);
}

std::uint64_t IndexView::checkpoint_byte(std::size_t number) const noexcept {
    return load_64(bytes_, checkpoints_at_ + number * kCheckpointSize + 8) / 8;
}

GzipCheckpoint IndexView::checkpoint(std::size_t number) const {
    if (windows_size_ != 0) throw ArgumentError("index: the windows are only in the file");
    const BlobRange window = window_range(number);
    return checkpoint(number,
                      bytes_.subspan(static_cast<std::size_t>(window.offset), static_cast<std::size_t>(window.size)));
}

GzipCheckpoint IndexView::checkpoint(std::size_t number, std::span<const std::uint8_t> window) const {
    return load_checkpoint(bytes_.subspan(checkpoints_at_), number, window);
}

BlobRange IndexView::window_range(std::size_t number) const noexcept {
    BlobRange range = load_window_range(bytes_.subspan(checkpoints_at_), number);
    range.offset += checkpoints_at_ + checkpoint_count_ * kCheckpointSize;
    return range;
}

bool are_same(const GzipCheckpoint& a, const GzipCheckpoint& b) {
    const std::size_t size = window_size(a);
    if (size != window_size(b) || unpack_window(a.window, size) != unpack_window(b.window, size)) return false;
    GzipCheckpoint same = b;
    same.window = a.window;
    return same == a;
}

std::uint64_t dialect_digest(const Dialect& dialect) {
    checked(dialect);
    // Members that have no meaning in this dialect are 0. doc/guide/index.md lists the bytes.
    std::array<std::uint8_t, 16> bytes{};
    bytes[0] = dialect.delimiter;
    bytes[1] = dialect.quote ? 1 : 0;
    bytes[2] = dialect.quote.value_or(0);
    bytes[3] = dialect.escape ? 1 : 0;
    bytes[4] = dialect.escape.value_or(0);
    bytes[5] = dialect.escape && dialect.escape_scope == EscapeScope::kQuoted ? 1 : 0;
    bytes[6] = dialect.quote && dialect.quoting == Quoting::kAnywhere ? 1 : 0;
    bytes[7] = dialect.terminator == Terminator::kLf ? 0 : dialect.terminator == Terminator::kCr ? 1 : 2;
    bytes[8] = dialect.header == HeaderRecord::kFirstNotEmpty ? 0 : dialect.header == HeaderRecord::kFirst ? 1 : 2;
    static_assert(kMaxPreambleSize <= std::uint64_t{1} << 56);
    for (std::size_t i = 0; i < 7; ++i) bytes[9 + i] = static_cast<std::uint8_t>(dialect.preamble >> (8 * i));
    return XXH3_64bits(bytes.data(), bytes.size());
}

std::string index_path(const std::string& input_path) { return input_path + kIndexSuffix; }

}  // namespace cleave
