// Work in a child process, which continues with the calling thread only.
#pragma once

#include <functional>

namespace cleave::test {

// Forks, calls `work` in the child, and returns what `work` returned, 0 to 255. A child that hangs is killed after a
// minute; then the result is -1.
int exit_status_of(const std::function<int()>& work);

}  // namespace cleave::test
