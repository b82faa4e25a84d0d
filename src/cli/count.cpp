// cleave count: records, the header not among them.
#include "cli/output.h"
#include "cli/verbs.h"

namespace cleave::cli {

int run_count(Context& context) {
    const Arguments& arguments = context.arguments;
    StandardOutput out;
    std::uint64_t total = 0;
    for (const std::string& path : arguments.inputs) {
        OpenInput opened = open_input(context, path);
        const Findings findings = scan(opened.input, opened.dialect, arguments.machine);
        Judge(context).take(findings);
        const std::uint64_t header = context.has_header() && findings.records > 0 ? 1 : 0;
        const std::uint64_t records = findings.records - header;
        total += records;
        if (arguments.inputs.size() == 1) {
            out.print("{}\n", records);
        } else {
            out.print("{} {}\n", records, path);
        }
        out.flush();
    }
    if (arguments.inputs.size() > 1) out.print("{} total\n", total);
    out.flush();
    return 0;
}

}  // namespace cleave::cli
