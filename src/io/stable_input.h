// The one protocol of an input that changes while it is read.
//
// Results count only if nobody wrote to the input while it was read. The size and the times of a file show a write. But
// if only the time of the last status change is new, the file was either touched, or written to by somebody who then
// restored the time of the last write. In that case the work is repeated and the results are compared.
#pragma once

#include "cleave/error.h"
#include "cleave/input.h"

namespace cleave {

// Throws as Input::throw_if_changed(). `is_same` is called after a touch: it reads the input again, and says whether
// the results are what they were. Not while another thread uses the input.
template <class IsSame>
void throw_unless_same(const Input& input, const IsSame& is_same) {
    constexpr unsigned kMostTouches = 8;  // it may be touched again and again
    for (unsigned touches = 0; input.accept_touch(); ++touches) {
        if (touches == kMostTouches || !is_same()) throw InputChangedError();
    }
}

// The result of work(), which reads the input. Throws as throw_unless_same(), and what work() throws.
template <class Work>
auto read_stable(const Input& input, const Work& work) {
    auto result = work();
    throw_unless_same(input, [&] { return work() == result; });
    return result;
}

}  // namespace cleave
