// Scans an input: a blob by building an index, a stream in one pass.
#include <optional>

#include "cleave/compression.h"
#include "cleave/scan.h"
#include "core/dialect/preamble.h"
#include "core/reader/sequential_reader.h"
#include "core/scan/check_arguments.h"
#include "core/scan/comparing_walker.h"
#include "core/scan/header_finder.h"
#include "core/scan/stream_starts.h"

namespace cleave {

Findings scan_stream(Input& input, const Dialect& dialect, const Execution& execution, StreamStarts* starts) {
    input.set_threads(execution.thread_count());
    ComparingWalker walker = walker_of(input, dialect, execution);
    HeaderFinder header(dialect, walker.lead());
    SequentialReader reader(input, execution.meter);
    for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
        header.feed(bytes);
        if (starts != nullptr) {
            starts->pass(walker, header, bytes);
        } else {
            walker.pass(bytes);
        }
    }
    Findings findings = walker.findings();
    findings.header_records = header.records();
    if (starts != nullptr) starts->end(findings);
    input.throw_if_changed();
    return findings;
}

// Looks at more and more of the input until it reaches the end of the preamble. Most inputs have none.
SniffedDialect settle_dialect(const DialectOptions& wanted, Input& input) {
    std::optional<SniffedDialect> sniffed;
    std::size_t size = 0;
    for (std::size_t needed = kSniffSize; size < needed;) {
        size = needed;
        const auto head = input.peek(size);
        const bool is_all = head.size() < size;
        sniffed = settle_within(wanted, head, is_all, without_compression_suffix(input.path_with_suffix()));
        if (!sniffed && size >= kMaxPreambleSize) throw_long_preamble(size);
        if (!is_all) needed = sniffed ? static_cast<std::size_t>(sniffed->dialect.preamble) + kSniffSize : 2 * size;
    }
    if (!input.is_snapshot() || input.blob().size() > kSniffSize) return *sniffed;
    // An incomplete record says little about the dialect, so it is left out first. Each call leaves out some bytes, so
    // the recursion ends.
    const std::uint64_t whole = input.blob().size();
    index_records(input, ValidDialect(*sniffed), Execution{});
    return input.blob().size() == whole ? *sniffed : settle_dialect(wanted, input);
}

Findings scan(Input& input, const Dialect& dialect, const Execution& execution) {
    try {
        return input.is_stream() ? scan_stream(input, dialect, execution, nullptr)
                                 : index_records(input, dialect, execution).findings();
    } catch (const std::exception&) {
        input.rethrow();
    }
}

}  // namespace cleave
