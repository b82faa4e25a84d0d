// The index of a file: FILE.cleave, beside FILE. It says where records start, so the file need not be scanned again.
// The index of a gzip file also says from where the file can be decoded. doc/guide/index.md describes the format, and
// says when an index is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "cleave/scan.h"

namespace cleave {

class ValidDialect;

// The distance between the entries of an index, in bytes of the file.
constexpr std::uint64_t kIndexStep = std::uint64_t{1} << 20;

// What an index says about its file, except for its entries.
struct IndexHead {
    std::uint64_t dialect_digest = 0;  // of the dialect with which the file was read
    std::uint64_t size = 0;            // of the file, in bytes, decoded
    std::int64_t mtime_ns = 0;         // of the file: its modification time,
    std::int64_t ctime_ns = 0;         // and the time of its last status change, both since 1970
    std::uint64_t inode = 0;           // of the file
    std::uint64_t header_size = 0;     // bytes of the header, and of everything before it
    std::uint64_t header_records = 0;  // as Findings::header_records
    std::uint64_t records = 0;         // including the header
    std::uint64_t step = kIndexStep;   // 1 .. kMaxBlockSize
    std::optional<Place> divergence;   // as Findings::divergence

    bool operator==(const IndexHead&) const = default;
};

// A place in a gzip file from which it can be decoded: after a member, or after a block within one.
struct GzipCheckpoint {
    std::uint64_t offset = 0;           // decoded bytes before it
    std::uint64_t bit = 0;              // compressed bits before it
    bool is_in_member = false;          // within a member
    std::uint64_t member_size = 0;      // decoded bytes of that member before it
    std::uint32_t member_checksum = 0;  // CRC-32 of these
    // The last of these bytes, at most 32 KiB, as a deflate stream; empty if there are none.
    std::vector<std::uint8_t> window;

    bool operator==(const GzipCheckpoint&) const = default;
};

// Whether they are the same. Windows count as what they stand for, because a window can be stored in many ways. Throws
// IndexError if one of them is damaged.
bool are_same(const GzipCheckpoint& a, const GzipCheckpoint& b);

// What the index of a gzip file has in addition. The first place from which the file can be decoded is its beginning,
// which is not among the checkpoints.
struct GzipIndex {
    std::uint64_t file_size = 0;              // in bytes, compressed
    std::vector<std::uint32_t> checksums;     // CRC-32 of every kGzipPart decoded bytes, and of the remainder
    std::vector<GzipCheckpoint> checkpoints;  // at growing offsets

    bool operator==(const GzipIndex&) const = default;
};

// A checkpoint is at the first possible place that is kGzipDistance decoded bytes behind the one before, or the
// beginning. Half of that suffices if these bytes have shrunk to two fifths or less; their window will shrink as well.
constexpr std::uint64_t kGzipDistance = std::uint64_t{4} << 20;
constexpr std::uint64_t kGzipPart = std::uint64_t{256} << 10;

// An index as plain data. There is one entry for every `step` bytes of the file, and one for the remainder: entry i is
// the first boundary at or after i * step.
struct IndexContents {
    IndexHead head;
    std::vector<Boundary> entries;
    std::optional<GzipIndex> gzip = std::nullopt;  // of a gzip file

    bool operator==(const IndexContents&) const = default;
};

// The bytes of the index file. Throws ArgumentError for contents that no file can have.
std::vector<std::uint8_t> encode_index(const IndexContents& contents);

// A view of the bytes of an index file, which must outlive it. Any thread may use it.
class IndexView {
public:
    // Throws IndexError unless the bytes are a complete index of a known version. Any damaged byte is detected, here
    // or, if it belongs to the window of a checkpoint, by checkpoint().
    explicit IndexView(std::span<const std::uint8_t> bytes);
    explicit IndexView(TemporaryBytes auto&& bytes) = delete;

    const IndexHead& head() const noexcept { return head_; }
    std::size_t entry_count() const noexcept { return entry_count_; }
    // Precondition: `number` is below entry_count().
    Boundary entry(std::size_t number) const noexcept;

    // Whether it is the index of a gzip file. Only then may the members up to checkpoint() be called.
    bool is_of_gzip() const noexcept { return checkpoints_at_ != 0; }
    // The size of the compressed file.
    std::uint64_t file_size() const noexcept;
    // CRC-32 of the decoded bytes [number * kGzipPart, (number + 1) * kGzipPart), as far as there are any; they must
    // begin within the text.
    std::uint32_t checksum(std::size_t number) const noexcept;
    std::size_t checkpoint_count() const noexcept { return checkpoint_count_; }
    // Precondition: `number` is below checkpoint_count().
    std::uint64_t checkpoint_offset(std::size_t number) const noexcept;
    // How many compressed bytes lie before it, whole ones. Precondition: as above.
    std::uint64_t checkpoint_byte(std::size_t number) const noexcept;
    // Throws IndexError if the window is damaged, and ArgumentError if the view lacks the windows, as the view of an
    // IndexFile may. Precondition: as checkpoint_offset().
    GzipCheckpoint checkpoint(std::size_t number) const;

    // Whether the bytes begin like an index of any version.
    static bool begins_as_index(std::span<const std::uint8_t> bytes) noexcept;

private:
    friend class IndexFile;

    // `bytes` lack the windows, which take `windows_size` bytes. checkpoint() above must not be called then.
    IndexView(std::span<const std::uint8_t> bytes, std::uint64_t windows_size);
    GzipCheckpoint checkpoint(std::size_t number, std::span<const std::uint8_t> window) const;
    // Where the window of a checkpoint is: an offset in the index file, and a size.
    BlobRange window_range(std::size_t number) const noexcept;

    std::span<const std::uint8_t> bytes_;
    std::uint64_t windows_size_ = 0;
    IndexHead head_;
    std::size_t head_size_ = 0;
    std::size_t entry_count_ = 0;
    std::size_t checksums_at_ = 0;  // in bytes_
    std::size_t checkpoint_count_ = 0;
    std::size_t checkpoints_at_ = 0;  // in bytes_; 0 in the index of a plain file
};

// What the path of a file's index has in addition to the file's path.
constexpr const char* kIndexSuffix = ".cleave";

// The path of a file's index.
std::string index_path(const std::string& input_path);

// A digest that is the same on every machine and in every version. Throws ArgumentError for an invalid dialect.
std::uint64_t dialect_digest(const Dialect& dialect);

// Which file an index may belong to.
enum class IndexMatch : std::uint8_t {
    kSameFile,  // its size, both times and its inode are as in the index
    kSameTime,  // its size and modification time are as in the index. Someone could have prepared such an index and set
                // that time, so compare the index with the file before using it
};

// The index of an open file. With Access::kMapped, it is mapped if a MappingGuard exists, which must then outlive it;
// otherwise all but the windows is read into memory: 16 bytes for each MiB of the file and, for a gzip file, up to 40
// more. Any thread may use it.
class IndexFile final : public RecordMap {
    struct Impl;

public:
    // Opens the index of an input that is a blob or a gzip file, and checks it. Returns nullptr if there is no index.
    // Throws IndexError for an index that must not be trusted: it is damaged or has a different version, other users
    // may write to it, it was made with a different dialect, or it does not match the file. Throws SystemError, and
    // ArgumentError for any other stream and for an invalid dialect. Before this, peek() into a compressed input.
    static std::shared_ptr<const IndexFile> open(const Input& input, const Dialect& dialect,
                                                 IndexMatch match = IndexMatch::kSameFile,
                                                 Access access = Access::kMapped);

    // The same for a dialect that the library has checked, or null for any.
    static std::shared_ptr<const IndexFile> open(const Input& input, const ValidDialect* dialect, IndexMatch match,
                                                 Access access);

    // For open() only.
    explicit IndexFile(std::unique_ptr<Impl> impl);
    ~IndexFile() override;

    bool is_for(const Dialect& dialect) const override;
    Findings findings() const override;
    std::uint64_t step() const noexcept override;
    Boundary entry(std::size_t number) const noexcept override;

    // For a checkpoint, see below.
    const IndexView& view() const noexcept;
    // As IndexView::checkpoint(). Reads the window if it is not mapped, and throws SystemError if that fails.
    GzipCheckpoint checkpoint(std::size_t number) const;
    void throw_if_lost() const override;

private:
    std::unique_ptr<Impl> impl_;
};

// Turns a gzip file that has not been read into a blob of the decoded bytes. What is asked for is decoded from the last
// checkpoint before it, and compared with the checksums of the index: lend() throws InputError if the file or the index
// is damaged, and IndexError if the index alone is. Each thread that reads needs 4 MiB. Does nothing for a blob.
// `index` must have been opened for this input, which keeps it. Throws ArgumentError for any other stream.
void read_by_index(Input& input, std::shared_ptr<const IndexFile> index);

// The same with the index beside the file, which may be for any dialect, because only the places from which to decode
// are used. Returns whether the input is a blob afterwards; it is not if there is no index, or if the input is another
// kind of stream. Throws what IndexFile::open() throws.
bool read_by_index(Input& input, Access access = Access::kMapped);

// Scans the input, a blob or a gzip file, and makes its index. The step is kIndexStep, whatever the block size of the
// execution. If `found` is set, it is called with the findings before the entries are computed, and anything it throws
// is passed on. Throws OpenQuoteError for a quote that is never closed, what index_records() and scan() throw, and
// ArgumentError for any other stream and for a snapshot. A gzip file is read once, in order, and is a stream at its end
// afterwards.
IndexContents make_index(Input& input, const Dialect& dialect, const Execution& execution,
                         FunctionRef<void(const Findings&)> found = {});

// Writes an index beside its file or object, which is the input. Only the user may read the index of a gzip file,
// because its windows are parts of the text. The index appears under its name only once it is complete, and replaces an
// older one. Throws OutputError if anything else has that name, ArgumentError for contents that no file can have and
// for a file of a web server, SystemError, Cancelled, and an Error if the store fails.
void write_index(const Input& input, const IndexContents& contents);

// Makes an index and writes it. Throws what make_index() and the function above throw; OutputError is thrown before the
// scan.
void write_index(Input& input, const Dialect& dialect, const Execution& execution,
                 FunctionRef<void(const Findings&)> found = {});

}  // namespace cleave
