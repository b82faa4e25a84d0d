// The index of a file: FILE.cleave, beside FILE. It says where records start, so the file need not be scanned again.
// doc/guide/index.md describes the format, and says when an index is trusted.
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

// The distance between the entries of an index, in bytes of the file.
constexpr std::uint64_t kIndexStep = std::uint64_t{1} << 20;

// There is an index, but it must not be trusted. `what()` says why.
class IndexError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// What an index says about its file, except for its entries.
struct IndexHead {
    std::uint64_t dialect_digest = 0;  // of the dialect with which the file was read
    std::uint64_t size = 0;            // of the file, in bytes
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

// An index as plain data. There is one entry for every `step` bytes of the file, and one for the remainder: entry i is
// the first boundary at or after i * step.
struct IndexContents {
    IndexHead head;
    std::vector<Boundary> entries;

    bool operator==(const IndexContents&) const = default;
};

// The bytes of the index file. Throws ArgumentError for contents that no file can have.
std::vector<std::uint8_t> encode_index(const IndexContents& contents);

// A view of the bytes of an index file, which must outlive it. Any thread may use it.
class IndexView {
public:
    // Throws IndexError unless the bytes are a complete index of this version. Any damaged byte is detected.
    explicit IndexView(std::span<const std::uint8_t> bytes);
    explicit IndexView(TemporaryBytes auto&& bytes) = delete;

    const IndexHead& head() const noexcept { return head_; }
    std::size_t entry_count() const noexcept { return entry_count_; }
    // Precondition: `number` is below entry_count().
    Boundary entry(std::size_t number) const noexcept;

    // Whether the bytes begin like an index of any version.
    static bool begins_as_index(std::span<const std::uint8_t> bytes) noexcept;

private:
    std::span<const std::uint8_t> bytes_;
    IndexHead head_;
    std::size_t entry_count_ = 0;
};

// The path of a file's index: the file's path with the suffix ".cleave".
std::string index_path(const std::string& input_path);

// A digest that is the same on every machine and in every version. Throws ArgumentError for an invalid dialect.
std::uint64_t dialect_digest(const Dialect& dialect);

// Which file an index may belong to.
enum class IndexMatch : std::uint8_t {
    kSameFile,  // its size, both times and its inode are as in the index
    kSameTime,  // its size and modification time are as in the index. Someone could have prepared such an index and set
                // that time, so compare the index with the file before using it
};

// The index of an open file. It is mapped if a MappingGuard exists, and read into memory otherwise. Any thread may use
// it.
class IndexFile {
    struct Impl;

public:
    // Opens the index of an input that is a blob, and checks it. Returns nullptr if there is no index. Throws
    // IndexError for an index that must not be trusted: it is damaged or has a different version, other users may write
    // to it, it was made with a different dialect, or it does not match the file. Throws SystemError, and
    // ArgumentError for a stream and for an invalid dialect.
    static std::shared_ptr<const IndexFile> open(const Input& input, const Dialect& dialect,
                                                 IndexMatch match = IndexMatch::kSameFile);

    // For open() only.
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

// Scans the input and makes its index. The step is kIndexStep, whatever the block size of the execution. If `found` is
// set, it is called with the findings before the entries are computed, and anything it throws is passed on. Throws
// OpenQuoteError for a quote that is never closed, what index_records() throws, and ArgumentError for a stream
// or a snapshot.
IndexContents make_index(Input& input, const Dialect& dialect, const Execution& execution,
                         FunctionRef<void(const Findings&)> found = {});

// Writes an index beside its file, which is the input. The index appears under its name only once it is complete, and
// replaces an older one. Throws OutputError if anything else has that name, ArgumentError for contents that no
// file can have, SystemError, and Cancelled.
void write_index(const Input& input, const IndexContents& contents);

// Makes an index and writes it. Throws what make_index() and the function above throw; OutputError is thrown before the
// scan.
void write_index(Input& input, const Dialect& dialect, const Execution& execution,
                 FunctionRef<void(const Findings&)> found = {});

}  // namespace cleave
