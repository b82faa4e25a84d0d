// What the verbs have in common: an input with a settled dialect.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cleave/cancel.h"
#include "cleave/foreign.h"
#include "cleave/function_ref.h"
#include "cleave/scan.h"
#include "cli/context.h"

namespace cleave::cli {

// Throws InputChangedError if the input has changed since it was opened. If only the time of the last status change is
// new, the input counts as unchanged if it still has the records in OpenInput::records; if those are not set, it counts
// as changed.
void require_same(const Context& context, const OpenInput& opened);

// Fills OpenInput::records for a blob, and reports what was found. Throws what index_records() throws.
const RecordIndex& index_of(Context& context, OpenInput& opened);

// Copies a stream to a temporary file and maps it. Does nothing for a mapped input.
void spool(Context& context, OpenInput& opened);

// Leaves an incomplete last record out of a snapshot, as index_records() does. Does nothing for any other input. For
// verbs that do not index the records. Throws what index_records() throws.
void leave_out_incomplete(const Context& context, OpenInput& opened);

// Opens the input, settles its dialect, finds its index and calls `work` with it. Warns if the data contradict the
// dialect. Throws InputError for an input that is not CSV, SystemError, and what `work` throws. If the input
// changed in the meantime or could not be read, throws what require_same() throws instead. `work` must call
// require_same() before it prints a result and after it has printed bytes of the input, unless a function it calls does
// so.
void with_input(Context& context, const Location& location, const Cancellation* cancellation,
                FunctionRef<void(OpenInput&)> work);

// Opens an input as the options say. Throws what open_named() and Input::open_snapshot() throw.
Input open_input(const Context& context, const Location& location, const Cancellation* cancellation, Access access);

// For the input at Context::location, of which nothing was read: throws InputError if it has a foreign format, or is
// compressed data that is cut short, and warns if its suffix promises compressed data.
void refuse_unfit(Context& context, Input& input, const std::optional<ForeignFormat>& foreign);

}  // namespace cleave::cli
