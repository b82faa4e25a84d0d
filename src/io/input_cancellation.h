// Who ends waits for an input.
#pragma once

#include "cleave/cancel.h"
#include "cleave/input.h"

namespace cleave {

// While it lives, the Cancellation ends waits for the input; null for none. Then the one before it does again, unless
// somebody has set another one. The input must not be moved from meanwhile.
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
