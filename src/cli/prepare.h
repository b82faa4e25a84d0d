// What happens between the parsing of the arguments and the verb.
#pragma once

#include "cli/context.h"

namespace cleave::cli {

// Loads what the run needs besides its inputs: keys, the memory manager, the device, stores and, for join, the list of
// pieces. Then closes the sandbox, so that no bytes of an input are parsed outside it. Throws UsageError, SystemError,
// DeviceUnavailable, MemoryError, what KeyRing() throws, and what Store() and read_piece_list() throw.
void prepare(Context& context);

// Throws SystemError.
void disable_core_dumps();

}  // namespace cleave::cli
