// Scanning an input by the way it is read.
#include "cleave/compression.h"
#include "cleave/foreign.h"
#include "cleave/scan.h"
#include "dialect/contract.h"
#include "scan/contract.h"
#include "scan/header_finder.h"
#include "scan/walker.h"

namespace cleave {
namespace {

Findings scan_mapped(Input& input, const Dialect& dialect, const Machine& machine) {
    return index_records(input, dialect, machine).findings();
}

Findings scan_stream(Input& input, const Dialect& dialect, const Machine& machine) {
    const Kernel& kernel = checked_kernel(machine);
    const auto head = input.peek(kSniffSize);
    refuse_foreign(head);
    const std::size_t bom = bom_size(head);
    Walker walker(checked(dialect), kernel, bom, true);
    HeaderFinder header(dialect, bom);
    for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) {
        walker.pass(bytes);
        header.feed(bytes);
        if (machine.meter != nullptr) machine.meter->scanned = input.consumed();
    }
    Findings findings = walker.findings();
    findings.header_records = header.records();
    return findings;
}

}  // namespace

SniffedDialect settle_dialect(const DialectWish& wish, Input& input) {
    const auto head = input.peek(kSniffSize);
    const SniffedDialect sniffed = settle_dialect(wish, head, without_compression_suffix(input.path()));
    if (!input.is_snapshot() || input.bytes().size() > kSniffSize) return sniffed;
    // The start of a record says little about it. Each turn leaves out bytes, so the recursion ends.
    index_records(input, sniffed.dialect, Machine{});
    return input.bytes().size() == head.size() ? sniffed : settle_dialect(wish, input);
}

Findings scan(Input& input, const Dialect& dialect, const Machine& machine) {
    try {
        const Findings findings =
            input.is_mapped() ? scan_mapped(input, dialect, machine) : scan_stream(input, dialect, machine);
        if (input.accept_touch() && scan_mapped(input, dialect, machine) != findings) throw InputChangedError();
        input.throw_if_changed();
        return findings;
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
