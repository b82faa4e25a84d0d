// What the verbs share: an input with a settled dialect.
#pragma once

#include <functional>
#include <string>

#include "cleave/cancel.h"
#include "cleave/scan.h"
#include "cli/context.h"

namespace cleave::cli {

// Copies a stream to a temporary file and maps it. Does nothing for a mapped input.
void spool(Context& context, OpenInput& opened);

// Leaves an incomplete last record out of a snapshot, as index_records() does. Does nothing for another input. For
// verbs that make no index. Throws as index_records().
void leave_out_incomplete(const Context& context, OpenInput& opened);

// Opens the input, settles its dialect, finds its index and calls `work` with it. Warns if the data speak against the
// dialect. Throws InputError for an input that is not CSV, std::system_error, and what `work` throws. If the input
// changed meanwhile or could not be read, throws what Input::throw_if_changed() throws instead. `work` must call
// throw_if_changed() before it prints a result.
void with_input(Context& context, const std::string& path, const Cancellation* cancellation,
                const std::function<void(OpenInput&)>& work);

}  // namespace cleave::cli
