// Translates the library's exceptions to Python's.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>

#include "cleave/error.h"

namespace cleave::python {

// An InputError, and the number of records in the header, if known.
struct PlacedError {
    InputError error;
    bool is_open_quote = false;
    std::optional<std::uint64_t> header_records;
};

// Raises in Python what was thrown in C++. For nanobind.
void translate(const std::exception_ptr& thrown, void* payload);

}  // namespace cleave::python
