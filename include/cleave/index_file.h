// The index of a file: FILE.cleave, beside FILE. It says where records start, so that a file need not be scanned again.
// doc/index.md has the format, and says when an index is believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/scan.h"

namespace cleave {

// From one entry of an index to the next, in bytes of the file.
constexpr std::uint64_t kIndexStep = std::uint64_t{1} << 20;

// There is an index, and it must not be believed. `what()` says why.
class IndexError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// What an index says of its file, but for its entries.
struct IndexHead {
    std::uint64_t dialect_digest = 0;  // of the dialect by which the file was read
    std::uint64_t size = 0;            // of the file, in bytes
    std::int64_t mtime_ns = 0;         // of the file: time of the last write,
    std::int64_t ctime_ns = 0;         // and of the last status change, both since 1970
    std::uint64_t inode = 0;           // of the file
    std::uint64_t header_size = 0;     // bytes of the header, and of all that is before it
    std::uint64_t header_records = 0;  // as Findings::header_records
    std::uint64_t records = 0;         // header included
    std::uint64_t step = kIndexStep;   // 1 .. kMaxBlockSize
    std::optional<Place> divergence;   // as Findings::divergence

    bool operator==(const IndexHead&) const = default;
};

// An index as plain data. There is an entry for each `step` bytes of the file, and for the rest: entry i is the first
// boundary at i * step or after it.
struct IndexContents {
    IndexHead head;
    std::vector<Boundary> entries;

    bool operator==(const IndexContents&) const = default;
};

// The bytes of the index file. Throws std::invalid_argument for contents that no file can have.
std::vector<std::uint8_t> encode_index(const IndexContents& contents);

// Reads the bytes of an index file, which must outlive the view. Any thread.
class IndexView {
public:
    // Throws IndexError for bytes that are not a whole index of this version: any damaged byte is found.
    explicit IndexView(std::span<const std::uint8_t> bytes);
    explicit IndexView(TemporaryBytes auto&& bytes) = delete;

    const IndexHead& head() const noexcept { return head_; }
    std::size_t entry_count() const noexcept { return entry_count_; }
    // Precondition: `number` is below entry_count().
    Boundary entry(std::size_t number) const noexcept;

    // Whether the bytes begin as every index does, of whatever version.
    static bool begins_as_index(std::span<const std::uint8_t> bytes) noexcept;

private:
    std::span<const std::uint8_t> bytes_;
    IndexHead head_;
    std::size_t entry_count_ = 0;
};

// The path of the index of a file: with the suffix ".cleave".
std::string index_path(const std::string& input_path);

// The same for the same dialect, on every machine and in every version. Throws std::invalid_argument for a dialect with
// a fault.
std::uint64_t dialect_digest(const Dialect& dialect);

// Which file an index may belong to.
enum class IndexMatch : std::uint8_t {
    kSameFile,  // its size, both times and its inode are those in the index
    kSameTime,  // its size and its time of the last write are. Somebody may have made such an index and set that time,
                // so compare the index with the file before using it
};

// The index of an open file, read from a mapping. Any thread.
class IndexFile {
    struct Impl;

public:
    // Opens the index of an input that is a blob, and judges it. Returns nullptr if there is no index. Throws
    // IndexError for an index that must not be believed: it is damaged or of another version, others may write it, it
    // is of another dialect, or the file does not match. Throws std::system_error, and std::invalid_argument for a
    // stream and for a dialect with a fault.
    static std::shared_ptr<const IndexFile> open(const Input& input, const Dialect& dialect,
                                                 IndexMatch match = IndexMatch::kSameFile);

    // For open() alone.
    explicit IndexFile(std::unique_ptr<Impl> impl);
    IndexFile(const IndexFile&) = delete;
    IndexFile& operator=(const IndexFile&) = delete;
    ~IndexFile();

    const IndexView& view() const noexcept;
    // Throws IndexError if bytes of the index could not be read since it was opened.
    void throw_if_lost() const;

private:
    std::unique_ptr<Impl> impl_;
};

// Scans the input and makes its index. The steps are kIndexStep, whatever the block size of the execution. With
// `found`, calls it with the findings before the rest is made, and throws what it throws. Throws OpenQuoteError for a
// quote that is never closed, what index_records() throws, and std::invalid_argument for a stream and a snapshot.
IndexContents make_index(Input& input, const Dialect& dialect, const Execution& execution,
                         const std::function<void(const Findings&)>& found = {});

// Writes an index beside its file, which is the input. The index appears under its name when it is complete. It
// replaces an older index. Throws OutputError if anything else has the name, std::invalid_argument for contents that no
// file can have, std::system_error, Cancelled.
void write_index(const Input& input, const IndexContents& contents);

// Makes the index and writes it. Throws what make_index() and the function above throw; OutputError before the scan.
void write_index(Input& input, const Dialect& dialect, const Execution& execution,
                 const std::function<void(const Findings&)>& found = {});

}  // namespace cleave
