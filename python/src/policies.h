// Policies, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace cleave::python {

// Adds the class Policy to the module.
void add_policies(nanobind::module_& module);

}  // namespace cleave::python
