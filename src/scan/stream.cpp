// Scanning an input by the way it is read.
#include "cleave/scan.h"
#include "scan/walker.h"

namespace cleave {

Findings scan(Input& input, const Dialect& dialect, const Machine& machine) {
    if (input.is_mapped()) return RecordIndex(input.bytes(), dialect, machine, input.cancellation()).findings();
    const Kernel& kernel = machine.kernel != nullptr ? *machine.kernel : default_kernel();
    Walker walker(dialect, kernel, bom_size(input.peek(kSniffSize)), true);
    for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) walker.pass(bytes);
    return walker.findings();
}

}  // namespace cleave
