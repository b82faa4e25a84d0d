// What scan and --plan have in common: versions of inputs, and plans that were made before.
#pragma once

#include "cleave/range_plan.h"
#include "cli/context.h"

namespace cleave::cli {

// Throws UsageError unless the input is a plain regular file, whose ranges can be read.
void require_ranges(const Context& context, const Input& input);

// What --input-version says, or the time of the last write.
InputVersion version_of(const Arguments& arguments, const Input& input);

// Reads the file of --plan, and sets what it decides: the dialect and the header mode. Throws InputError and
// std::system_error.
RangePlan take_plan_file(Context& context);

// Throws InputChangedError unless the input is the one that the plan was made for.
void require_version(const Context& context, const RangePlan& plan, const Input& input);

// The pieces `first` to `first + count`, from 0, of the plan. Throws InputChangedError, and as find_cuts().
std::vector<Piece> planned_pieces(const Context& context, const RangePlan& plan, const Input& input, std::size_t first,
                                  std::size_t count);

}  // namespace cleave::cli
