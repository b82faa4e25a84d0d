#include "scan/contract.h"

#include <stdexcept>
#include <string>

namespace cleave {

const Kernel& checked_kernel(const Machine& machine) {
    if (machine.threads == 0) throw std::invalid_argument("machine: at least one thread is needed");
    if (machine.block_size == 0 || machine.block_size > kMaxBlockSize) {
        throw std::invalid_argument("machine: the block size is not in 1 .. " + std::to_string(kMaxBlockSize));
    }
    return machine.kernel != nullptr ? *machine.kernel : default_kernel();
}

}  // namespace cleave
