// What the verbs share: an input with a settled dialect.
#pragma once

#include <functional>
#include <string>

#include "cleave/cancel.h"
#include "cleave/scan.h"
#include "cli/context.h"

namespace cleave::cli {

// Throws InputChangedError if the input is not what it was when it was opened. If only the time of the last status
// change is new, it is the same as long as it has the same records as OpenInput::records; without these it is not.
void require_same(const Context& context, const OpenInput& opened);

// Makes OpenInput::records, of a blob, and remarks on what was found. Throws as index_records().
const RecordIndex& index_of(Context& context, OpenInput& opened);

// Copies a stream to a temporary file and maps it. Does nothing for a mapped input.
void spool(Context& context, OpenInput& opened);

// Leaves an incomplete last record out of a snapshot, as index_records() does. Does nothing for another input. For
// verbs that make no index. Throws as index_records().
void leave_out_incomplete(const Context& context, OpenInput& opened);

// Opens the input, settles its dialect, finds its index and calls `work` with it. Warns if the data speak against the
// dialect. Throws InputError for an input that is not CSV, std::system_error, and what `work` throws. If the input
// changed meanwhile or could not be read, throws as require_same() instead. `work` must call that before it prints a
// result, and after it has printed bytes of the input, unless what it calls does.
void with_input(Context& context, const std::string& path, const Cancellation* cancellation,
                const std::function<void(OpenInput&)>& work);

}  // namespace cleave::cli
