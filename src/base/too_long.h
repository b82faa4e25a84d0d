// The error for a record that is longer than the user allows.
#pragma once

#include <cstdint>
#include <string>

#include "cleave/error.h"

namespace cleave {

[[noreturn]] inline void throw_too_long(std::uint64_t max_record, Place place) {
    throw InputError("a record of more than " + std::to_string(max_record) + " bytes", place);
}

}  // namespace cleave
