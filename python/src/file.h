// An input, for use by Python's cleave.File.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/cleave.h"
#include "cleave/experimental/arrow.h"
#include "cleave/experimental/column_stream.h"
#include "cleave/function_ref.h"
#include "interruptible.h"
#include "use_lock.h"

namespace cleave::python {

// How to read an input.
struct Settings {
    DialectOptions dialect;
    bool has_header = true;
    bool allow_open_quote = false;
    bool is_escape_given = false;  // see StageOptions
    bool uses_index = true;        // if there is one
    Encoding encoding = Encoding::kBytes;
    unsigned threads = 1;
};

// The pieces of an input, as one vector per member of Piece: Piece::start of all pieces, and so on.
struct Pieces {
    std::vector<std::uint64_t> starts;
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint64_t> first_records;
    std::vector<std::uint64_t> records;
    std::uint64_t header_size = 0;
};

// Pieces by value. Their records are ranges of the input; `starts` contains the starts of their first records.
struct PiecesByValue : Pieces {
    explicit PiecesByValue(cleave::PiecesByValue&& made) : plan(std::move(made)) {}

    cleave::PiecesByValue plan;
};

// What to lay out as columns.
struct Selection {
    std::optional<std::vector<std::size_t>> columns;
    std::vector<std::pair<std::string, std::string>> rules;  // text and origin
    std::shared_ptr<const KeyRing> keys;
    bool is_text = true;
    bool empty_is_null = false;
    bool missing_is_null = false;
    std::size_t page_size = 0;
    std::optional<RecordRange> range;  // the range of a piece; records count from 0 after the header
};

// The pieces to write, and where to. `rules` and `keys` as in Selection.
struct Writing {
    Policy policy;
    OutputOptions output;
    std::optional<std::vector<std::size_t>> columns;
    std::vector<std::pair<std::string, std::string>> rules;
    std::shared_ptr<const KeyRing> keys;
    std::string rejects;  // the file for bad records; empty: none is set aside
};

// Members may be called by any thread that holds the GIL, and release it while they work. Ctrl-C ends long calls. They
// throw InputChangedError if the input has changed since it was opened, and ArgumentError as UseLock does.
class File {
public:
    // A file is scanned through a mapping, under a guard, so the process survives if the file becomes shorter; columns
    // are read with pread(). A compressed file, a pipe or a device is a stream until all of its bytes are needed; then
    // they are copied to a temporary file, except for those of a gzip file with an index.
    // `name`, if not empty, is what the file is called instead; then nothing is looked for beside it.
    static std::unique_ptr<File> of_path(const std::string& path, const Settings& settings,
                                         const std::string& name = {});
    // Opens the object's bytes.
    static std::unique_ptr<File> of_buffer(nanobind::handle object, const std::string& name, const Settings& settings);

    const SniffedDialect& sniffed() const { return sniffed_; }
    // The size and the modification time of a regular file that was opened by its path; no value for anything else.
    std::optional<std::pair<std::uint64_t, std::int64_t>> version() const;
    // Whether it is a gzip file that is read by its index.
    bool is_gzip_by_index();
    std::uint64_t size();
    // The findings for all records.
    Findings findings();
    // How many bytes come before the first data record, including the header if there is one.
    std::uint64_t header_size();
    // Where a record starts, counted from 0 after the header; the end of the input if there is none.
    std::uint64_t start_of(std::uint64_t record);
    Examination examine(std::uint64_t max_listed);
    Pieces split(const Policy& policy);
    std::unique_ptr<PiecesByValue> split_by_value(const Policy& policy);
    // Return, in one copy, the first `header_size` bytes of the input, followed by the range, or by the ranges one
    // after the other.
    nanobind::bytes read(std::uint64_t start, std::uint64_t length, std::uint64_t header_size);
    nanobind::bytes gather(std::span<const BlobRange> ranges, std::uint64_t header_size);
    ColumnStream select(const Selection& selection);
    // Writes pieces as `cleave split` does, all or none, and returns their paths in order. `progress` is None, or is
    // called by this thread with the bytes done and the bytes in all, which are None if that is not known.
    std::vector<std::string> write(const Writing& writing, nanobind::object progress);
    // The file without the records that a strict reader refuses, which are listed in a new file at `list`. The number
    // of fields may be any, and so may the number of bad records, if so chosen.
    std::unique_ptr<File> without_rejects(const std::string& list, bool has_any_fields, bool has_any_number);
    // Of such a file, a record, counted from 0 after the header: its place in all of the input, and its bytes.
    std::pair<Place, nanobind::bytes> reject(std::uint64_t record);
    // Makes the index of the file, which is used from then on, and returns its path.
    std::string make_index();
    // The values in the header, or "column_1" and so on if there is none.
    std::vector<std::string> names();

private:
    File(std::shared_ptr<Input> input, const Settings& settings, bool is_path);

    enum class Length : std::uint8_t { kLong, kShort };

    void run(FunctionRef<void()> work, Length length = Length::kLong);
    // The same for long work that finds out itself whether the input has changed.
    void run_job(FunctionRef<void()> work, Watch& watch);
    void run_locked(FunctionRef<void()> work, Length length, bool is_checked, Watch* watch);
    Execution execution() const;
    void reopen_after_fork();
    void look_for_index();
    void need_blob();
    std::shared_ptr<Input> reopened() const;
    std::shared_ptr<Input> input_for_job(const Writing& writing, Meter& meter);
    void require_records(Input& input, const RecordRange& range);
    std::shared_ptr<Input> input_for(const ColumnStreamOptions& options);
    const RecordIndex& index();
    const RecordIndex& index_of_any();
    std::uint64_t header_records() const;

    std::shared_ptr<Input> input_;
    Settings settings_;
    FileIdentity identity_;  // when it was opened
    bool is_regular_;        // a regular file that can be opened again by its path
    bool was_stream_;        // when it was opened
    SniffedDialect sniffed_;
    UseLock lock_;  // guards the members below, and the input; locked only without the GIL
    std::unique_ptr<Cancellation> cancellation_ = std::make_unique<Cancellation>();
    int process_;  // that opened the input
    std::optional<RecordIndex> index_;
    bool is_read_ = false;     // the input is a stream that a ColumnStream reads
    bool has_looked_ = false;  // for an index
    bool is_gzip_by_index_ = false;
    std::shared_ptr<const IndexFile> index_file_;  // with which to find records
    std::string warning_;                          // why an index is not used, until it has been passed on
    std::shared_ptr<Input> copied_;                // a gzip file with an index, copied, for parts under rules
    std::optional<RecordIndex> scanned_;           // of the input, not read from an index; likewise
    std::shared_ptr<Sifting> sifting_;             // set if records were left out
};

// Adds the classes Summary, RangePlan and Cut, and the functions scan() and plan(), to the module.
void add_ranges(nanobind::module_& module);

}  // namespace cleave::python
