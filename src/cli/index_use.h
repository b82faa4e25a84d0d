// Decides whether a verb uses the index next to its input.
#pragma once

#include <memory>

#include "cleave/index_file.h"
#include "cli/context.h"

namespace cleave::cli {

// The index of the input if --index permits one and it is valid; otherwise nullptr, after a remark if it is invalid. A
// gzip file becomes a blob if it has an index that is of use.
// Under --index require throws UsageError for an input that cannot have an index, IndexError for an invalid index, and
// SystemError if there is none.
std::shared_ptr<const IndexFile> find_index(const Context& context, OpenInput& opened);

}  // namespace cleave::cli
