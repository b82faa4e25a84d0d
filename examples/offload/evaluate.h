// The call that a program adds when it turns to annotated libraries.
#pragma once

#include "cleave/experimental/offload.h"

namespace annotated {

// The context of this program. These variables of the environment choose it:
//
//   OFFLOAD_DEVICE     cpu [the default], gpu, auto, or the path of a module, which is then always used
//   OFFLOAD_MEMORY     bytes of the device's memory that may be used [all]
//   OFFLOAD_EXPLAIN    if set, evaluate() says on standard error where each function ran
//
// Throws what cleave::open_device() and the constructor of cleave::Context throw.
cleave::Context& context();
void explain_if_wanted();

// Computes the value, and returns it on the host.
template <class T>
T evaluate(const cleave::Lazy<T>& value) {
    T made = context().get(value);
    explain_if_wanted();
    return made;
}

}  // namespace annotated
