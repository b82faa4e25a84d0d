// cleave sample: prints records drawn at random, in the order of the input.
#include "cleave/sample.h"

#include "base/random_seed.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/range_printer.h"
#include "cli/rewritten_output.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

std::uint64_t draw_seed() {
    constexpr unsigned kUnused = 32;  // keeps the seed short enough to type
    return random_seed() >> kUnused;
}

// Calls take(begin, end) with the bounds of each drawn record, in the order of the input.
template <class Take>
void draw(Context& context, const RecordIndex& index, const Take& take) {
    const Arguments& arguments = context.arguments;
    const std::uint64_t header_records = context.header_records;
    const std::uint64_t seed = arguments.seed ? *arguments.seed : draw_seed();
    if (!arguments.seed) Diagnostics(context).remark(formatted("--seed {} draws the same records again", seed));
    Locator locator(index);
    Sample sample(index.findings().records - header_records, arguments.sample_size, seed);
    for (auto number = sample.next(); number; number = sample.next()) {
        const Boundary begin = locator.start_of(header_records + *number);
        const Boundary end = locator.start_of(begin.record + 1);
        if (end.offset <= begin.offset) throw InputChangedError();
        take(begin, end);
    }
}

void print_sample(Context& context, OpenInput& opened) {
    spool(context, opened);
    const RecordIndex& index = index_of(context, opened);
    const std::uint64_t header_size = Locator(index).start_of(context.header_records).offset;
    RangePrinter printer(opened.input);
    printer.print({0, header_size_in(context.arguments.policy.header, 1, header_size)});
    draw(context, index, [&](const Boundary& begin, const Boundary& end) {
        printer.print({begin.offset, end.offset - begin.offset});
    });
    printer.flush();
    require_same(context, opened);
}

// Prints the drawn records through the rules, which read no other records.
void print_staged_sample(Context& context, OpenInput& opened) {
    spool_staged(context, opened);
    RewrittenOutput output(context, opened);
    Rewriting& rewriting = output.rewriting();
    const auto write = [&](std::span<const std::uint8_t> bytes) { output.write(bytes); };
    if (header_size_in(context.arguments.policy.header, 1, rewriting.header_size()) > 0) rewriting.write_header(write);
    draw(context, rewriting.index(), [&](const Boundary& begin, const Boundary& end) {
        rewriting.write_record({begin.offset, end.offset - begin.offset}, begin.record, write);
    });
    output.finish();
}

}  // namespace

void run_sample(Context& context) {
    with_input(context, context.arguments.inputs.front(), nullptr, [&](OpenInput& opened) {
        if (context.arguments.stage.options.is_empty()) {
            print_sample(context, opened);
        } else {
            print_staged_sample(context, opened);
        }
    });
}

}  // namespace cleave::cli
