// The one protocol for dealing with inputs that change while they are read.
//
// Results count only if nobody wrote to the input while it was read. A file's size and times reveal a write. But if
// only ctime has changed, the file was either touched, or written to by someone who then restored its mtime. In that
// case the work is repeated and the results are compared.
#pragma once

#include "cleave/error.h"
#include "cleave/input.h"

namespace cleave {

// Throws what Input::throw_if_changed() throws. After a touch, calls is_same(), which reads the input again and says
// whether the results are still the same. Do not call this while another thread uses the input.
template <class IsSame>
void throw_unless_same(const Input& input, const IsSame& is_same) {
    constexpr unsigned kMostTouches = 8;  // it may be touched again and again
    for (unsigned touches = 0; input.accept_touch(); ++touches) {
        if (touches == kMostTouches || !is_same()) throw InputChangedError();
    }
}

// Returns the result of work(), which reads the input. Throws what throw_unless_same() and work() throw.
template <class Work>
auto read_stable(const Input& input, const Work& work) {
    auto result = work();
    throw_unless_same(input, [&] { return work() == result; });
    return result;
}

}  // namespace cleave
