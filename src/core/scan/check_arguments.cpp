#include "core/scan/check_arguments.h"

#include <sched.h>

#include <algorithm>
#include <string>

#include "cleave/error.h"

namespace cleave {

unsigned usable_cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;  // the machine has more cores than fit into a set
    return std::max(1U, static_cast<unsigned>(CPU_COUNT(&set)));
}

const Kernel& checked_kernel(const Execution& execution) {
    if (execution.block_size == 0 || execution.block_size > kMaxBlockSize) {
        throw ArgumentError("execution: the block size must be 1 to " + std::to_string(kMaxBlockSize));
    }
    return execution.kernel != nullptr ? *execution.kernel : default_kernel();
}

}  // namespace cleave
