// Finds where records start: in a blob (RecordIndex and Locator, with several threads) and in a stream. Knows nothing
// about pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "cleave/meter.h"

namespace cleave {

class BlockSummariser;
class DeviceChoice;
class FirstStarts;
class MemoryManager;
class RecordIndex;
class RecordMap;
struct BlockReport;
class ValidDialect;
class Walker;

// The number of cores that this process may use, at least 1. Any thread may call it.
unsigned usable_cores() noexcept;

// How the work is done. Results never depend on it. Every function that takes one throws ArgumentError if a
// member is out of range, and, if it has to call default_kernel(), what that throws: ArgumentError if the
// environment variable CLEAVE_KERNEL does not name a kernel that this machine can run.
struct Execution {
    const Kernel* kernel = nullptr;                   // nullptr: default_kernel()
    unsigned threads = 0;                             // 0: usable_cores()
    std::size_t block_size = std::size_t{1} << 20;    // bytes that a worker takes at a time, 1 .. kMaxBlockSize
    Meter* meter = nullptr;                           // receives the progress; may be null
    BlockSummariser* summariser = nullptr;            // nullptr: the kernel, with all threads
    std::shared_ptr<MemoryManager> memory = nullptr;  // for buffers of values; nullptr: a new "system" manager
    std::shared_ptr<DeviceChoice> offload = nullptr;  // where stages may run on a device; nullptr: the CPU alone
    // The input's index, see index_file.h, which index_records() and its callers read instead of scanning; nullptr:
    // none.
    std::shared_ptr<const RecordMap> index = nullptr;
    // What index_records() returned for the same input and dialect before. It then returns a copy instead of scanning,
    // but still notices a change of the input. Needed only during the call. nullptr: nothing.
    const RecordIndex* known = nullptr;

    // `threads`, or usable_cores() if that is 0.
    unsigned thread_count() const noexcept { return threads > 0 ? threads : usable_cores(); }
};
constexpr std::size_t kMaxBlockSize = std::size_t{1} << 24;

// A place between two records: the `record`-th one (from 0) starts at `offset`. The end of the input is a boundary too,
// with the number of records as `record`.
struct Boundary {
    std::uint64_t offset = 0;
    std::uint64_t record = 0;

    bool operator==(const Boundary&) const = default;
};

constexpr std::uint64_t kMaxGridStep = std::uint64_t{1} << 62;

// Offsets that are `phase` bytes past a multiple of `step`.
struct Grid {
    std::uint64_t step = 1;   // 1 .. kMaxGridStep
    std::uint64_t phase = 0;  // below step
};

// What a scan finds besides the boundaries.
struct Findings {
    std::uint64_t size = 0;
    std::uint64_t records = 0;  // including the header
    // How many records the header takes up, if the input has one: the header record according to the dialect's
    // HeaderRecord, and the empty records and the preamble before it. 0 if the input is empty.
    std::uint64_t header_records = 0;
    std::uint64_t preamble_records = 0;  // 1 if the dialect has a preamble, which is counted in header_records, too
    std::optional<Place> open_quote;     // the quote still open at the end of the input
    // Where the two quote modes part before their record starts first differ: at a quote in an unquoted field, or at an
    // escape right after a closing quote.
    std::optional<Place> divergence;

    // How many records are not data.
    std::uint64_t records_before_data(bool has_header) const { return has_header ? header_records : preamble_records; }

    bool operator==(const Findings&) const = default;
};

// What is known of the records of a file without a scan, such as its index: see index_file.h. Any thread may use it.
class RecordMap {
public:
    RecordMap() = default;
    RecordMap(const RecordMap&) = delete;
    RecordMap& operator=(const RecordMap&) = delete;
    virtual ~RecordMap() = default;

    // Whether the file was read with this dialect.
    virtual bool is_for(const Dialect& dialect) const = 0;
    // preamble_records and open_quote are not set.
    virtual Findings findings() const = 0;
    virtual std::uint64_t step() const noexcept = 0;  // 1 .. kMaxBlockSize
    // The first boundary at or after `number` * step(), which is within the file.
    virtual Boundary entry(std::size_t number) const noexcept = 0;
    // Throws IndexError if bytes of it could not be read.
    virtual void throw_if_lost() const = 0;
};

// There is an index, but it must not be trusted. `what()` says why.
class IndexError : public ErrorOf<std::runtime_error> {
public:
    using ErrorOf::ErrorOf;
};

// Whether an incomplete last record is kept: one without a terminator, or with an open quote at its end.
enum class LastRecord : std::uint8_t {
    kKept,
    kLeftOut,  // the index covers the bytes before that record
};

// What an input may begin with besides records.
enum class FirstBytes : std::uint8_t {
    kExamined,  // its lead; refuse_foreign() is called
    kMarked,    // its lead
    kData,      // nothing
};

// The boundaries of a blob, found block by block: the threads together read the bytes once, and one entry per block is
// kept. Immutable after construction; any thread may use it.
class RecordIndex {
public:
    // Scans a whole blob. The blob and the cancellation must outlive the index; plans made from the index also check
    // the cancellation. If the bytes change in the meantime, the result is undefined. Throws InputError as
    // refuse_foreign() does, Cancelled, what Blob::lend() and Blob::throw_if_lost() throw, and ArgumentError
    // for an invalid dialect or a bad execution.
    RecordIndex(const Blob& blob, const Dialect& dialect, const Execution& execution,
                const Cancellation* cancellation = nullptr, LastRecord last = LastRecord::kKept,
                FirstBytes first = FirstBytes::kExamined);
    RecordIndex(const Blob&& blob, const Dialect& dialect, const Execution& execution,
                const Cancellation* cancellation = nullptr, LastRecord last = LastRecord::kKept,
                FirstBytes first = FirstBytes::kExamined) = delete;
    // The same for bytes in memory, which must outlive the index.
    RecordIndex(std::span<const std::uint8_t> bytes, const Dialect& dialect, const Execution& execution,
                const Cancellation* cancellation = nullptr, LastRecord last = LastRecord::kKept);
    RecordIndex(TemporaryBytes auto&& bytes, const Dialect& dialect, const Execution& execution,
                const Cancellation* cancellation = nullptr, LastRecord last = LastRecord::kKept) = delete;

    const Findings& findings() const& noexcept { return findings_; }
    Findings findings() const&& { return findings_; }
    // Whether the other index, with the same block size, has the same findings, and in every block the same number of
    // records and the same state. If either was read from a file: the same number of records before the first record of
    // each block, and the same start of that record. Throws what Blob::lend() throws.
    bool has_same_records(const RecordIndex& other) const;
    Boundary end() const noexcept { return {findings_.size, findings_.records}; }
    std::size_t block_size() const noexcept { return block_size_; }
    // What was indexed, and how. The index covers only the bytes before end().
    const Blob& blob() const noexcept { return *blob_; }
    const Dialect& dialect() const noexcept { return dialect_; }
    const Kernel& kernel() const noexcept { return *kernel_; }
    const Lead& lead() const noexcept { return lead_; }
    unsigned threads() const noexcept { return threads_; }
    const Cancellation* cancellation() const noexcept { return cancellation_; }  // may be null
    // The execution's manager, for the buffers of plans; nullptr: a new "system" manager.
    const std::shared_ptr<MemoryManager>& memory() const noexcept { return memory_; }
    // For each block, the first boundary at or after its start. Throws what Blob::lend() throws, and Cancelled. If
    // `known` is given, the bytes may not have to be read.
    std::vector<Boundary> first_boundaries(const Cancellation* cancellation = nullptr,
                                           const FirstStarts* known = nullptr) const;

private:
    friend class Locator;
    friend RecordIndex index_records(Input& input, const ValidDialect& dialect, const Execution& execution);

    // Keeps the bytes of the input.
    static std::shared_ptr<const Blob> blob_of(const Input& input) { return input.shared_blob(); }

    // Where a walk of the block begins: how many records start before that place, and the state there.
    struct Entry {
        std::uint64_t records_before;
        // In bytes from the start of the block: 0 or, in an index that was read from a file, the first record start;
        // the size of the block if no record starts in it.
        std::uint32_t begin;
        std::uint8_t state;

        bool operator==(const Entry&) const = default;
    };

    RecordIndex(std::shared_ptr<const Blob> blob, const ValidDialect& dialect, const Execution& execution,
                const Cancellation* cancellation, LastRecord last, FirstBytes first);
    // Reads the index of the blob. Throws InputChangedError if it belongs to a different blob.
    RecordIndex(const RecordMap& map, std::shared_ptr<const Blob> blob, const ValidDialect& dialect,
                const Execution& execution);

    std::size_t block_count() const;
    std::uint64_t block_begin(std::size_t number) const { return number * std::uint64_t{block_size_}; }
    std::uint64_t block_end(std::size_t number) const;
    std::span<const std::uint8_t> block(std::size_t number, std::vector<std::uint8_t>& buffer) const;
    void summarise(std::size_t first, std::span<BlockReport> out, const Execution& execution,
                   const Cancellation* cancellation) const;
    void resolve(const std::vector<BlockReport>& blocks, const Cancellation* cancellation);
    std::uint64_t find_header() const;
    bool is_last_record_complete() const;
    void leave_out_last_record(std::vector<BlockReport>& blocks, const Execution& execution,
                               const Cancellation* cancellation);
    std::optional<Place> find_open_quote() const;

    std::shared_ptr<const Blob> blob_;
    std::uint64_t size_;  // of the indexed part of the blob
    Lead lead_;
    Dialect dialect_;
    const Kernel* kernel_;
    std::size_t block_size_;
    unsigned threads_;
    const Cancellation* cancellation_;
    std::shared_ptr<MemoryManager> memory_;
    std::vector<Entry> entries_;
    Findings findings_;
    bool is_read_ = false;  // from a file
};

// Indexes the records of a blob, reads Execution::index, or copies Execution::known. The index shares the bytes of the
// input with it, so it may live longer, but not longer than the input's Cancellation. An incomplete last record of a
// snapshot is left out of the index and of input.blob(): see Input::left_out(). A snapshot is always scanned. Throws
// what RecordIndex and rescan_if_touched() throw; with Execution::index, InputChangedError if it belongs to a different
// file or dialect, and IndexError if it could not be read; and ArgumentError for a stream, and with Execution::known
// for another input or dialect.
RecordIndex index_records(Input& input, const Dialect& dialect, const Execution& execution = {});

// Throws what Input::throw_if_changed() throws. If only the time of the last status change is new, scans again, and
// throws InputChangedError if the records do not match the index.
void rescan_if_touched(const Input& input, const RecordIndex& index, const Dialect& dialect,
                       const Execution& execution);

// Finds records with an index. Keeps the record starts of one block, up to the last answer. Therefore queries in
// ascending order scan each block at most once more, and finding the next record costs a few instructions. Each thread
// needs its own locator. Members throw InputChangedError if the bytes do not match the index, and IndexError if the
// index was read from a file and says that a record starts where none can.
class Locator {
public:
    // `index` must outlive the locator.
    explicit Locator(const RecordIndex& index);
    explicit Locator(const RecordIndex&& index) = delete;
    ~Locator();

    // The boundary before the `record`-th record, counted from 0; index.end() for any number past the last.
    Boundary start_of(std::uint64_t record);

    // The first boundary at or after `offset`, and the last one at or before it.
    Boundary at_or_after(std::uint64_t offset);
    Boundary at_or_before(std::uint64_t offset);

    // The first and the last record start on the grid in [from, to), if there is one; the end of the input does not
    // count. Looks only at grid offsets, nearest first, and scans no block beyond the answer. Both throw
    // ArgumentError if a member of the grid is out of range.
    std::optional<Boundary> first_on(const Grid& grid, std::uint64_t from, std::uint64_t to);
    std::optional<Boundary> last_on(const Grid& grid, std::uint64_t from, std::uint64_t to);

private:
    // The last answer: a record of the block, its word in starts_, and the bits of that word from the record on.
    struct Cursor {
        std::uint64_t record = 0;
        std::size_t word = 0;
        std::uint64_t bits = 0;  // 0: no last answer
    };

    void load(std::size_t block, std::uint64_t to);
    void require_terminator(std::size_t block);
    void restart(std::uint64_t offset, std::uint64_t records, std::uint8_t state);
    void approach(std::uint64_t offset);
    void go_back();
    void visit(std::uint64_t offset);
    void walk_on();
    void reach(std::size_t byte);
    void find(std::uint64_t record);
    bool starts_record(std::uint64_t offset);
    std::uint64_t records_before(std::uint64_t offset);

    const RecordIndex* index_;
    std::unique_ptr<Walker> walker_;
    std::size_t block_;                  // the current block, or SIZE_MAX
    std::uint64_t origin_ = 0;           // where its walk began
    std::uint64_t records_ = 0;          // records that start before origin_
    bool is_whole_ = false;              // no record of the block starts before origin_, and none must be skipped
    std::vector<std::uint8_t> buffer_;   // for Blob::lend()
    std::vector<std::uint64_t> starts_;  // the record starts of the walked bytes, one bit per byte, from origin_ on
    std::vector<std::uint32_t> ranks_;   // how many bits are set before every 64th word
    Cursor cursor_;
};

// Sniffs what `wanted` leaves open, and finds the preamble, from the first bytes of the input and its name without the
// suffix of a compressed file: "in.tsv.gz" means TAB. For a snapshot of at most kSniffSize bytes, an incomplete last
// record is not used, and is left out of the input as index_records() does. Throws what Input::peek() throws and, for
// such a snapshot, what index_records() throws; InputError if the preamble is longer than kMaxPreambleSize; and
// ArgumentError if what `wanted` gives is invalid.
SniffedDialect settle_dialect(const DialectOptions& wanted, Input& input);

// Scans the whole input: a blob with several threads, a stream in order. The dialect is taken as it is, and not
// sniffed: see settle_dialect(). An open quote is not an error: see Findings::open_quote. Leaves out an incomplete last
// record of a snapshot. Throws SystemError, InputError as Input::read() and refuse_foreign() do, InputChangedError,
// Cancelled, and ArgumentError for an invalid dialect, a bad execution, or a stream that was read before.
Findings scan(Input& input, const Dialect& dialect, const Execution& execution = {});

}  // namespace cleave
