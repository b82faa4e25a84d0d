// Translates the library's exceptions to Python's.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "cleave/error.h"

namespace cleave::python {

// An InputError, and the number of records in the header, if known.
struct PlacedError {
    InputError error;
    bool is_open_quote = false;
    std::optional<std::uint64_t> header_records;
};

// Issues a CleaveWarning. Throws nb::python_error if a filter makes it an exception. Needs the GIL.
void warn(const std::string& words);

// Raises in Python what was thrown in C++. For nanobind.
void translate(const std::exception_ptr& thrown, void* payload);

}  // namespace cleave::python
