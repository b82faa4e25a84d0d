// How a call of the module ends if it does not succeed.
#pragma once

#include <stdexcept>
#include <string>

#include "features/stores/store_module.h"

namespace cleave::store {

class Failure : public std::runtime_error {
public:
    Failure(cleave_store_result result, const std::string& message, bool may_be_done = false)
        : std::runtime_error(message), result_(result), may_be_done_(may_be_done) {}

    cleave_store_result result() const noexcept { return result_; }
    // Whether the request may have had its effect nevertheless.
    bool may_be_done() const noexcept { return may_be_done_; }

private:
    cleave_store_result result_;
    bool may_be_done_;
};

}  // namespace cleave::store
