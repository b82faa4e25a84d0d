// cleave sample: prints records drawn at random, in the order of the input.
#include "cli/chosen_records.h"
#include "cli/feature_parts.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

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

}  // namespace

void run_sample(Context& context) {
    with_input(context, context.arguments.inputs.front(), nullptr, [&](OpenInput& opened) {
        if (context.arguments.stage.options.is_empty()) {
            print_sample(context, opened);
        } else {
            print_changed_sample(context, opened);
        }
    });
}

}  // namespace cleave::cli
