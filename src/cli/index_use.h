// Whether a verb uses the index beside its input.
#pragma once

#include <memory>

#include "cleave/index_file.h"
#include "cli/context.h"

namespace cleave::cli {

// The index of the input, if --index wants one and it is good; else nullptr, after a remark about one that is not.
// Under --index require throws UsageError for an input that can have no index, IndexError for one that is not good, and
// std::system_error if there is none.
std::shared_ptr<const IndexFile> find_index(const Context& context, OpenInput& opened);

}  // namespace cleave::cli
