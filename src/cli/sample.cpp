// cleave sample: some records, drawn at random, in the order of the input.
#include "cleave/sample.h"

#include "base/random_seed.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/range_printer.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

std::uint64_t draw_seed() {
    constexpr unsigned kUnused = 32;  // a seed that people can type
    return random_seed() >> kUnused;
}

void print_sample(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    spool(context, opened);
    const Input& input = opened.input;
    const RecordIndex index = index_records(opened.input, opened.dialect, arguments.execution);
    const Diagnostics diagnostics(context);
    diagnostics.take(index.findings());
    const std::uint64_t header_records = context.header_records;
    const std::uint64_t population = index.findings().records - header_records;
    const std::uint64_t seed = arguments.seed ? *arguments.seed : draw_seed();
    if (!arguments.seed) diagnostics.remark(formatted("--seed {} draws the same records again", seed));

    RangePrinter printer(input);
    Locator locator(index);
    if (arguments.policy.header == HeaderMode::kRepeat || arguments.policy.header == HeaderMode::kFirst) {
        printer.print({0, locator.start_of(header_records).offset});
    }
    Sample sample(population, arguments.sample_size, seed);
    for (auto number = sample.next(); number; number = sample.next()) {
        const Boundary begin = locator.start_of(header_records + *number);
        const Boundary end = locator.start_of(begin.record + 1);
        if (end.offset <= begin.offset) throw InputChangedError();
        printer.print({begin.offset, end.offset - begin.offset});
    }
    printer.flush();
    rescan_if_touched(input, index, opened.dialect, arguments.execution);
}

}  // namespace

void run_sample(Context& context) {
    with_input(context, context.arguments.inputs.front(), nullptr,
               [&](OpenInput& opened) { print_sample(context, opened); });
}

}  // namespace cleave::cli
