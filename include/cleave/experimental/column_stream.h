// The records of an input as a stream of Arrow record batches. Several threads read pages of whole records, apply the
// rules if there are any, and lay out the columns; the batches are delivered in order. Memory use depends on the pages
// in progress, not on the size of the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/experimental/arrow.h"
#include "cleave/experimental/columns.h"
#include "cleave/input.h"
#include "cleave/keys.h"
#include "cleave/scan.h"
#include "cleave/stage.h"

namespace cleave {

// Records of a blob, without the header, from one record start to a later one. `begin.record` is the number of the
// first one, as in Place.
struct RecordRange {
    Place begin;
    std::uint64_t size = 0;  // in bytes
};

struct ColumnStreamOptions {
    bool has_header = true;
    // The columns to deliver, numbered from 0, in this order; none twice. Not set: all. If it is empty, the batches
    // have no columns, but as many rows as otherwise, and the same records cause errors.
    std::optional<std::vector<std::size_t>> columns = {};
    // Rules that change values; see cleave/stage.h. `select` must be empty, and `columns` must not name a column that
    // `default_action` drops. With rules, a byte that readers may interpret differently causes InputError. `suppress`
    // is refused, because the input is read once.
    StageOptions rules = {};
    std::shared_ptr<const KeyRing> keys = {};
    // With `missing_is_null`, records may have any number of fields. Otherwise every record that is not empty must have
    // as many fields as the first.
    ColumnOptions layout = {};
    bool is_text = true;                           // the columns are Utf8 instead of Binary: see ArrowColumn
    bool allow_open_quote = false;                 // all that follows a quote that is never closed belongs to the last
                                                   // record
    std::size_t page_size = std::size_t{1} << 20;  // bytes of the input in a batch, roughly; 1 .. kMaxBlockSize
    std::optional<RecordRange> range = {};         // blobs only; not set: all records except the header
};

// For use by one thread at a time; any thread may destroy it. The first call of next() starts Execution::threads
// threads, which work ahead until a few batches are waiting. An input without a first record, such as an empty one, has
// no columns.
//
// A child process made by fork() has none of these threads. There, calling next() on a stream that was started before
// the fork throws LogicError, and the stream's memory is not released. Other streams can be used.
class ColumnStream {
public:
    // Reads the head of the input, and keeps the input. If the input is a blob, other readers may use it at the same
    // time. If it is a stream, it must not have been read before, and only one ColumnStream at a time may use it.
    // Throws ArgumentError for invalid arguments, RuleError, InputError as refuse_foreign() does and for a
    // malformed first record, and whatever Input::peek() throws.
    ColumnStream(std::shared_ptr<Input> input, const Dialect& dialect, const ColumnStreamOptions& options,
                 const Execution& execution);
    ColumnStream(ColumnStream&&) noexcept;
    ColumnStream& operator=(ColumnStream&&) noexcept;
    // Stops the threads.
    ~ColumnStream();

    // The names of the columns: the header's values, or "column_1" and so on. Bytes that are not UTF-8 become U+FFFD.
    const std::vector<std::string>& names() const& noexcept;
    std::vector<std::string> names() const&& { return names(); }
    // How many records are not data, as in Findings::records_before_data().
    std::uint64_t header_records() const noexcept;

    // Sets `schema` to the type of the batches. The caller releases it.
    void schema(ArrowSchema* schema) const;

    // Sets `array` to the next batch, which has at least one record; the caller releases it. Returns false after the
    // last batch. Throws InputError, with its place, for a malformed record or a value that is not text (its place is
    // the start of the record), OpenQuoteError, InputChangedError and SystemError. After an exception the stream
    // is at its end. Throws LogicError in a process that does not have the stream's threads.
    bool next(ArrowArray* array);

private:
    struct State;
    struct Release {
        void operator()(State* state) const noexcept;
    };
    std::unique_ptr<State, Release> state_;
};

// The names that a ColumnStream of all columns would have. Reads only the head of the input. Throws what the
// constructor of ColumnStream throws, including ArgumentError while a ColumnStream is reading an input that is
// a stream.
std::vector<std::string> column_names(Input& input, const Dialect& dialect, bool has_header);

// Exports a stream through the Arrow C stream interface. `out` is overwritten; the caller releases it. The text of an
// error is the exception's message, with its place if it has one; the code is EINVAL or the system's error number.
void export_stream(ColumnStream stream, ArrowArrayStream* out);

}  // namespace cleave
