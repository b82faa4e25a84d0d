// cleave check: what an input is, and whether anything in it is odd.
#include <unistd.h>

#include "cli/check_report.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

// Whether the input is sound, by the options.
bool is_sound(const Examination& examination, const Arguments& arguments) {
    if (examination.findings.divergence && arguments.strict) return false;
    return arguments.lenient || (!examination.findings.open_quote && examination.census.ragged.count == 0);
}

}  // namespace

bool check_input(Context& context, const std::string& path, StandardOutput& out) {
    const Arguments& arguments = context.arguments;
    CheckReport report;
    report.path = path;
    report.has_header = context.has_header();
    report.terminator_given = !arguments.dialect.sniff_terminator;
    with_input(context, path, nullptr, [&](OpenInput& opened) {
        report.sniffed = opened.sniffed;
        report.bom = bom_size(opened.input.peek(kSniffSize)) > 0;
        report.examination = examine(opened.input, opened.dialect, arguments.execution, arguments.max_listed);
        report.compression = opened.input.compression();
        report.file_size = opened.input.identity().size;
    });
    report.sound = is_sound(report.examination, arguments);
    if (arguments.json) {
        print_json(out, report);
    } else {
        print_text(out, report, wants_colour(STDOUT_FILENO));
    }
    out.flush();
    return report.sound;
}

}  // namespace cleave::cli
