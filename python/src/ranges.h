// Summaries of ranges, and plans made from them, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace cleave::python {

// Adds the classes Summary, RangePlan and Cut, and the functions scan() and plan(), to the module.
void add_ranges(nanobind::module_& module);

}  // namespace cleave::python
