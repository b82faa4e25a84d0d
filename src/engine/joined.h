// Several inputs that a run reads as one: the first as it is, then the records of the others. The feature `inputs`
// defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"
#include "core/reader/location.h"

namespace cleave {

// What is taken of one of the inputs.
struct InputPart {
    std::size_t input = 0;   // its number, from 0
    std::uint64_t size = 0;  // of all of it, decompressed, in bytes
    std::int64_t mtime_ns = 0;
    std::uint64_t start = 0;   // where it begins in the joined input
    std::uint64_t length = 0;  // there; with the line end that was added
    std::uint64_t records = 0;
};

// A place in one of the inputs.
struct InputPlace {
    std::size_t input = 0;
    Place place;
    std::uint64_t header_records = 0;  // of this input, including its preamble
    bool is_rearranged = false;        // its records were, so that the byte is not known
};

// Bytes of one of the inputs.
struct InputRange {
    std::size_t input = 0;
    std::uint64_t offset = 0;  // in it, decompressed
    std::uint64_t size = 0;
};

// Any thread may call the members.
class JoinedInputs {
public:
    JoinedInputs() = default;
    JoinedInputs(const JoinedInputs&) = delete;
    JoinedInputs& operator=(const JoinedInputs&) = delete;
    virtual ~JoinedInputs() = default;

    // Calls take() for each input, in order. Call it once the joined input has been read.
    virtual void for_each(FunctionRef<void(const InputPart&)> take) const = 0;
    // Whether its bytes are bytes of the inputs, but for line ends.
    virtual bool has_ranges() const = 0;
    // If so, calls take() for the parts of a range that has been read, in order. A line end that was added is in none.
    virtual void for_each_range(BlobRange range, FunctionRef<void(const InputRange&)> take) const = 0;
    // Where a byte and a record that have been read are.
    virtual InputPlace find(const Place& place) const = 0;
    // The input that the current exception is about, if it is about one.
    virtual std::optional<InputPlace> faulty() const = 0;
    virtual Location location(std::size_t input) const = 0;
    // With JoinOptions::pauses, ends a pause. There are that many records before it. If the last one lacks its line
    // end, the next bytes are this line end alone. `has_line_end`: nothing has followed the last one of these so far.
    virtual void go_on(std::uint64_t records, bool lacks_line_end, bool has_line_end) = 0;
};

struct JoinOptions {
    const LocationList* inputs = nullptr;  // in order
    // Opens one of them, by its number, each time in the same way. Any thread may call it.
    std::function<Input(std::size_t input)> open;
    // Called once for each but the first. May throw if it cannot be read as CSV.
    std::function<void(std::size_t number, Input& input, const SniffedDialect& sniffed)> examine;
    Dialect dialect;           // of the first
    DialectOptions of_others;  // the same, with nothing to sniff but the preamble
    HeaderMode header = HeaderMode::kRepeat;
    bool is_read_in_order = false;  // as a stream: nothing but heads is read before its turn
    // Finds columns by name: records are written in the column order of the first input, with missing fields empty.
    // Columns that it lacks are left out with drops_unknown, and refused without. If columns differ, a stream results.
    bool by_name = false;
    bool drops_unknown = false;
    bool shows_names = true;  // of columns, in messages
    // For a reader that finds records and faults by itself: the stream returns no bytes behind each input until
    // go_on() is called, and does not check how inputs end. Only with is_read_in_order.
    bool pauses = false;
    Execution execution;
};

// Makes one input of several. `first`, the one with number 0, must not have been read; it becomes a blob or, if some
// input is compressed or converted, a stream. The others are opened when their bytes are needed, and must be the same
// then. If a record follows a last record without a line end, that gets the line end of the first record of its file.
// Throws InputError if columns differ, if an input ends inside quotes or with an escape, and if the first LF of an
// input would complete the CR before it; a stream checks ends and line feeds when it is read.
// Throws ArgumentError if two inputs are the same file, and what Input::open() and read() throw. The locations, and
// what `open` needs, must outlive `first`. Sets `joined` even if it throws: see JoinedInputs::faulty().
void join_inputs(Input& first, const JoinOptions& options, std::shared_ptr<JoinedInputs>& joined);

}  // namespace cleave
