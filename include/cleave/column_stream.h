// The records of an input as a stream of record batches in Arrow's layout: pages of whole records are read, changed by
// rules if there are any, and laid out as columns by several threads, and handed on in order. Memory is bounded by the
// pages in work, not by the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/arrow.h"
#include "cleave/columns.h"
#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/keys.h"
#include "cleave/scan.h"
#include "cleave/stage.h"

namespace cleave {

// Records of a blob, without the header: from one record start to another. `record` is the number of the first one, as
// in Place.
struct RecordRange {
    Place begin;
    std::uint64_t size = 0;  // in bytes
};

struct ColumnStreamOptions {
    bool has_header = true;
    // The columns, from 0, in the order in which they are wanted; at least one, none twice. Nothing: all.
    std::optional<std::vector<std::size_t>> columns;
    // Rules that change values; see cleave/stage.h. `select` must be empty. Columns that `default_action` drops must
    // not be wanted. With rules, a byte at which readers may differ is an error.
    StageOptions rules;
    std::shared_ptr<const KeyRing> keys;
    // With `missing_is_null` records may have any number of fields; else all have as many as the first one, but empty
    // ones.
    ColumnOptions layout;
    bool is_text = true;              // the columns are Utf8 and not Binary: see ArrowColumn
    bool accepts_open_quote = false;  // the rest of the input after a quote that is never closed is one record
    std::size_t page_size = std::size_t{1} << 20;  // bytes of the input in a batch, about; 1 .. kMaxBlockSize
    std::optional<RecordRange> range;              // of a blob; nothing: all records but the header
};

// For one thread at a time; any thread may destroy it. From the first next() on it has threads of its
// own, Execution::threads of them, that work ahead until some batches wait. Without the first record of an input, as in
// an empty one, there are no columns.
//
// A child process that fork() made has none of the threads. There, a stream that was begun before the fork throws
// std::logic_error from next(), and its memory is not released. Other streams can be used.
class ColumnStream {
public:
    // Reads the head of the input, which has not been read if it is a stream. The stream of columns keeps the input. If
    // the input is a blob, others may read it at the same time; a stream has one ColumnStream at a time. Throws
    // std::invalid_argument for arguments with a fault, RuleError, InputError as refuse_foreign() and for a malformed
    // first record, and what Input::peek() throws.
    ColumnStream(std::shared_ptr<Input> input, const Dialect& dialect, const ColumnStreamOptions& options,
                 const Execution& execution);
    ColumnStream(ColumnStream&&) noexcept;
    ColumnStream& operator=(ColumnStream&&) noexcept;
    // Stops the threads.
    ~ColumnStream();

    // The names of the columns: values of the header, or "column_1" and so on. Bytes that are not UTF-8 are U+FFFD.
    const std::vector<std::string>& names() const noexcept;
    // How many records are not data, as Findings::records_before_data().
    std::uint64_t header_records() const noexcept;

    // The type of the batches, which the caller releases.
    void schema(ArrowSchema* schema) const;

    // Sets `array` to the next batch, of at least one record, which the caller releases. Returns false after the last
    // one. Throws InputError, with its place, for malformed records, and for a value that is no text: its place is the
    // record's beginning; OpenQuoteError; InputChangedError; std::system_error. After that, the stream is at its end.
    // Throws std::logic_error in a process to which the stream's threads do not belong.
    bool next(ArrowArray* array);

private:
    struct State;
    struct Release {
        void operator()(State* state) const noexcept;
    };
    std::unique_ptr<State, Release> state_;
};

// The names that a ColumnStream of all columns has. Reads the head of the input alone, and not while a ColumnStream
// reads an input that is a stream. Throws as the constructor of ColumnStream.
std::vector<std::string> column_names(Input& input, const Dialect& dialect, bool has_header);

// Hands a stream on through the Arrow C stream interface. `out` is overwritten; the caller releases it. An error has
// the message of the exception, and the place if there is one; its code is EINVAL, or that of the system.
void export_stream(ColumnStream stream, ArrowArrayStream* out);

}  // namespace cleave
