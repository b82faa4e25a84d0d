// What happens between the parsing of the arguments and the verb.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/sandbox.h"

namespace cleave::cli {

// Loads what the run needs besides its inputs: keys, the memory manager, the device, stores and, for join, the list of
// pieces. Then closes the sandbox, so that no bytes of an input are parsed outside it. Throws UsageError, SystemError,
// DeviceUnavailable, MemoryError, what KeyRing() throws, and what Store() and read_piece_list() throw.
void prepare(Context& context);

// Throws SystemError.
void disable_core_dumps();

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
Permissions permissions_of(const Context& context);

// The directory or, if it does not exist, its nearest existing ancestor.
std::string nearest_directory(std::string path);

}  // namespace cleave::cli
