// Temporarily sets which Cancellation ends an input's waits.
#pragma once

#include "cleave/cancel.h"
#include "cleave/input.h"

namespace cleave {

// While this object exists, `cancellation`, unless null, ends waits for the input. The destructor restores the previous
// Cancellation, unless a different one has been set since. The input must not be moved from in the meantime.
class InputCancellation {
public:
    InputCancellation(Input& input, const Cancellation* cancellation)
        : input_(input), cancellation_(cancellation), before_(input.cancellation()) {
        input.set_cancellation(cancellation);
    }
    InputCancellation(const InputCancellation&) = delete;
    InputCancellation& operator=(const InputCancellation&) = delete;
    ~InputCancellation() {
        if (input_.cancellation() == cancellation_) input_.set_cancellation(before_);
    }

private:
    Input& input_;
    const Cancellation* cancellation_;
    const Cancellation* before_;
};

}  // namespace cleave
