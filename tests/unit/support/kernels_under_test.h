// The kernels that the tests run: this machine's own, and those that can only be emulated on it.
#pragma once

#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/kernel.h"
#include "core/kernels/kernel.h"

namespace cleave::test {

std::vector<const Kernel*> kernels_under_test();

// A name that is unique among these kernels.
std::string unique_name(const Kernel* kernel);

// Like markup_of, but keeps apart the variants that no dialect needs (escapes of scope `quoted` without quotes).
Markup markup_under_test(const Dialect& dialect);

// The carry at the start of an input: a record begins.
constexpr Carry kCarryAtStart = {
    .inside = 0, .escaped = 0, .field_may_open = 1, .after_terminator = 1, .after_cr = 0, .after_quote = 0};

}  // namespace cleave::test
