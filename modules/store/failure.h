// How a call of the module ends if it does not succeed.
#pragma once

#include <stdexcept>
#include <string>

#include "store/store_module.h"

namespace cleave::store {

class Failure : public std::runtime_error {
public:
    Failure(cleave_store_result result, const std::string& message) : std::runtime_error(message), result_(result) {}

    cleave_store_result result() const noexcept { return result_; }

private:
    cleave_store_result result_;
};

}  // namespace cleave::store
