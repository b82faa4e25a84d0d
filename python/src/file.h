// An input, as cleave.File of Python uses it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/cleave.h"

namespace cleave::python {

// How to read an input.
struct Settings {
    DialectOptions dialect;
    bool has_header = true;
    bool accepts_open_quote = false;
    bool is_escape_given = false;  // see StageOptions
    unsigned threads = 1;
};

// The pieces of an input, member by member: Piece::start of all of them, and so on.
struct Pieces {
    std::vector<std::uint64_t> starts;
    std::vector<std::uint64_t> lengths;
    std::vector<std::uint64_t> first_records;
    std::vector<std::uint64_t> records;
    std::uint64_t header_size = 0;
};

// Pieces by value. Their records are ranges of the input; `starts` are those of their first records.
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
    std::optional<RecordRange> range;  // of a piece; records count from 0 behind the header
};

// Members are called with the interpreter's lock, by any thread, and give it up. Ctrl-C ends long ones. They throw
// InputChangedError if the input is not what it was when it was opened.
class File {
public:
    // A file is scanned in a mapping, under a guard, so that it cannot end the process when it becomes shorter; columns
    // are read by pread(). A compressed file, a pipe and a device are streams until all of their bytes are needed: then
    // they are copied to a temporary file.
    static std::unique_ptr<File> of_path(const std::string& path, const Settings& settings);
    // The object's bytes.
    static std::unique_ptr<File> of_buffer(nanobind::handle object, const std::string& name, const Settings& settings);

    const SniffedDialect& sniffed() const { return sniffed_; }
    std::uint64_t size();
    // Of all records.
    const Findings& findings();
    // Bytes before the first record: the header, if there is one.
    std::uint64_t header_size();
    Examination examine(std::uint64_t max_listed);
    Pieces split(const Policy& policy);
    std::unique_ptr<PiecesByValue> split_by_value(const Policy& policy);
    // In one copy: the first `header_size` bytes of the input, and then the range, or the ranges one after the other.
    nanobind::bytes read(std::uint64_t start, std::uint64_t length, std::uint64_t header_size);
    nanobind::bytes gather(std::span<const BlobRange> ranges, std::uint64_t header_size);
    ColumnStream select(const Selection& selection);
    // The values in the header; nothing without one.
    std::vector<std::string> names();

private:
    File(std::shared_ptr<Input> input, const Settings& settings);

    enum class Length { kLong, kShort };

    template <class Work>
    void run(const Work& work, Length length = Length::kLong);
    Execution execution() const;
    void need_blob();
    const RecordIndex& index();
    std::uint64_t header_records() const;

    std::shared_ptr<Input> input_;
    Settings settings_;
    SniffedDialect sniffed_;
    std::mutex mutex_;  // guards what follows, and the input; taken without the interpreter's lock
    std::unique_ptr<Cancellation> cancellation_ = std::make_unique<Cancellation>();
    std::optional<RecordIndex> index_;
    bool is_read_ = false;  // the input is a stream that a ColumnStream reads
};

}  // namespace cleave::python
