// Opens what the user names: a file, standard input, or an object in a store.
#pragma once

#include <string>

#include "cleave/cancel.h"
#include "cleave/encoding.h"
#include "cli/context.h"
#include "core/reader/fd.h"

namespace cleave::cli {

// Opens a file or standard input. Throws SystemError.
Fd open_file(const Location& location);

// Opens an input. The store of a URL must be open: see prepare(). Throws what Input::open() and Store::open() throw.
Input open_named(const Context& context, const Location& at, const Cancellation* cancellation,
                 Encoding encoding = Encoding::kBytes, Access access = Access::kMapped);

// All bytes of a small file. Stops early once it has more than `most`; the result is then longer than `most`. Throws
// SystemError, and what Store::find() throws.
std::string read_named(const Context& context, const Location& location, std::size_t most = std::string::npos);

}  // namespace cleave::cli
