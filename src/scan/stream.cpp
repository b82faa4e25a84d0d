// Scans an input: a blob by an index, a stream in one pass.
#include "cleave/compression.h"
#include "cleave/scan.h"
#include "io/sequential_reader.h"
#include "scan/comparing_walker.h"
#include "scan/header_finder.h"

namespace cleave {
namespace {

// index_records() checks that the input has not changed.
Findings scan_blob(Input& input, const Dialect& dialect, const Execution& execution) {
    return index_records(input, dialect, execution).findings();
}

Findings scan_stream(Input& input, const Dialect& dialect, const Execution& execution) {
    input.set_threads(execution.threads);
    ComparingWalker walker = walker_of(input, dialect, execution);
    HeaderFinder header(dialect, walker.bom());
    SequentialReader reader(input, execution.meter);
    for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
        walker.pass(bytes);
        header.feed(bytes);
    }
    Findings findings = walker.findings();
    findings.header_records = header.records();
    input.throw_if_changed();
    return findings;
}

}  // namespace

SniffedDialect settle_dialect(const DialectOptions& wanted, Input& input) {
    const auto head = input.peek(kSniffSize);
    const SniffedDialect sniffed = settle_dialect(wanted, head, without_compression_suffix(input.path()));
    if (!input.is_snapshot() || input.blob().size() > kSniffSize) return sniffed;
    // An incomplete record says little about the dialect. Each call leaves out bytes, so the recursion ends.
    const std::uint64_t size = input.blob().size();
    index_records(input, sniffed.dialect, Execution{});
    return input.blob().size() == size ? sniffed : settle_dialect(wanted, input);
}

Findings scan(Input& input, const Dialect& dialect, const Execution& execution) {
    try {
        return input.is_stream() ? scan_stream(input, dialect, execution) : scan_blob(input, dialect, execution);
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
