// cleave cat: one piece to standard output.
#include <unistd.h>

#include "cli/output.h"
#include "cli/verbs.h"
#include "io/output.h"

namespace cleave::cli {

void run_cat(Context& context) {
    const Arguments& arguments = context.arguments;
    OpenInput opened = open_input(context, arguments.inputs.front());
    opened.input.spool();
    const RecordIndex index(opened.input.bytes(), opened.dialect, arguments.machine);
    Judge(context).take(index.findings());

    Piece wanted;
    const std::uint64_t header_size = plan_pieces(index, arguments.policy, [&](const Piece& piece) {
        if (piece.number == arguments.cat_piece) wanted = piece;
    });
    const std::uint64_t written_header = header_size_in(arguments.policy.header, wanted.number, header_size);
    StandardOutput().write(opened.input.bytes().first(written_header));
    copy_range(opened.input, wanted.start, wanted.length, STDOUT_FILENO, "write error");
}

}  // namespace cleave::cli
