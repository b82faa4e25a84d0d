// Cuts an input in one pass: reads it, walks it, and passes it to a StreamCutter.

#include "cleave/error.h"
#include "cleave/plan.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/stream_cutter.h"
#include "core/reader/sequential_reader.h"
#include "core/reader/spill.h"
#include "core/scan/comparing_walker.h"
#include "core/scan/header_finder.h"

namespace cleave {
namespace {

void check_in_order(const Input& input, const Policy& policy) {
    if (input.is_snapshot()) throw ArgumentError("plan: a snapshot needs an index; see plan_pieces()");
    if (policy.alignment != 0) throw ArgumentError("policy: alignment needs an index; see plan_pieces()");
    if (policy.together) throw ArgumentError("policy: runs of one value need an index; see plan_pieces()");
    if (needs_index(policy)) throw ArgumentError("policy: equal records need an index; see plan_pieces()");
    if (!policy.pieces) return;
    if (input.is_stream()) throw ArgumentError("policy: pieces need the whole input; spool the stream first");
}

}  // namespace

Findings cut_stream(Input& input, const Dialect& dialect, const Execution& execution, const Policy& wanted,
                    PieceSink& sink) {
    check_in_order(input, checked_for_ranges(wanted));
    const Policy policy = of_dialect(wanted, dialect);
    input.set_threads(execution.thread_count());
    ComparingWalker walker = walker_of(input, dialect, execution);
    HeaderFinder header(dialect, walker.lead());
    StreamCutter cutter(policy, sink, input.is_stream() ? 0 : input.blob().size());
    const bool has_header = policy.header != HeaderMode::kNone;
    const auto cut = [&](std::span<const std::uint8_t> bytes) {
        cutter.set_header_records(has_header ? header.records() : walker.lead().records());
        cutter.feed(bytes, walker.walk(bytes));
    };
    // Empty records belong to the header if a record that is not empty follows them, so they are held back until that
    // is known.
    SpillBuffer waiting;
    const auto cut_waiting = [&] {
        waiting.for_each_part(cut);
        waiting.clear();
    };
    SequentialReader reader(input, execution.meter);
    for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
        header.feed(bytes);
        if (header.is_found() || !has_header) {
            if (!waiting.empty()) cut_waiting();
            cut(bytes);
        } else {
            waiting.append(bytes);
        }
    }
    cut_waiting();
    Findings findings = walker.findings();
    findings.header_records = header.records();
    cutter.finish(findings);
    return findings;
}

}  // namespace cleave
