#include "scan/contract.h"

#include <stdexcept>
#include <string>

namespace cleave {

const Kernel& checked_kernel(const Execution& execution) {
    if (execution.threads == 0) throw std::invalid_argument("execution: at least one thread is needed");
    if (execution.block_size == 0 || execution.block_size > kMaxBlockSize) {
        throw std::invalid_argument("execution: the block size is not in 1 .. " + std::to_string(kMaxBlockSize));
    }
    return execution.kernel != nullptr ? *execution.kernel : default_kernel();
}

}  // namespace cleave
