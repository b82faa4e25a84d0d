// cleave count: records, the header not among them.
#include "cli/verbs.h"

namespace cleave::cli {

std::uint64_t count_input(Context& context, const std::string& path, StandardOutput& out) {
    Findings findings;
    with_input(context, path, nullptr, [&](OpenInput& opened) {
        findings = scan(opened.input, opened.dialect, context.arguments.machine);
        Judge(context).take(findings);
    });
    const std::uint64_t records = findings.records - context.header_records;
    if (context.arguments.inputs.size() == 1) {
        out.print("{}\n", records);
    } else {
        out.print("{} {}\n", records, path);
    }
    out.flush();
    return records;
}

}  // namespace cleave::cli
