// What scan and --plan have in common: versions of inputs, and plans made earlier.
#pragma once

#include "cleave/experimental/range_plan.h"
#include "cli/context.h"

namespace cleave::cli {

// Throws UsageError unless the input is a plain regular file, whose ranges can be read.
void require_ranges(const Context& context, const Input& input);

// The value of --input-version, or else the input's modification time.
InputVersion version_of(const Arguments& arguments, const Input& input);

// Reads the file given with --plan, and sets the options that the plan determines: the dialect and the header mode.
// Throws InputError and SystemError.
RangePlan take_plan_file(Context& context);

// Throws InputChangedError unless the plan was made for this input.
void require_version(const Context& context, const RangePlan& plan, const Input& input);

// The plan's pieces from `first`, counted from 0, up to `first + count`. Throws InputChangedError, and what find_cuts()
// throws.
std::vector<Piece> planned_pieces(const Context& context, const RangePlan& plan, const Input& input, std::size_t first,
                                  std::size_t count);

}  // namespace cleave::cli
