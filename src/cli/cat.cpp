// cleave cat: one piece to standard output.
#include <unistd.h>

#include "cli/diagnostics.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "io/copy.h"

namespace cleave::cli {
namespace {

void print_piece(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    spool(context, opened);
    const RecordIndex index = index_records(opened.input, opened.dialect, arguments.execution);
    Diagnostics(context).take(index.findings());

    const Piece wanted = plan_piece(index, arguments.policy, arguments.cat_piece);
    const std::uint64_t written_header =
        header_size_in(arguments.policy.header, wanted.number, header_size(index, arguments.policy));
    rescan_if_touched(opened.input, index, opened.dialect, arguments.execution);
    const Input& input = opened.input;
    copy_range(input.blob(), {0, written_header}, STDOUT_FILENO, "write error", input.cancellation());
    copy_range(input.blob(), {wanted.start, wanted.length}, STDOUT_FILENO, "write error", input.cancellation());
    rescan_if_touched(opened.input, index, opened.dialect, arguments.execution);
}

}  // namespace

void run_cat(Context& context) {
    with_input(context, context.arguments.inputs.front(), nullptr,
               [&](OpenInput& opened) { print_piece(context, opened); });
}

}  // namespace cleave::cli
