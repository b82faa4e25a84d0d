// cleave check: describes an input and reports its faults.
#include <unistd.h>

#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "core/scan/line_counter.h"
#include "features/check/command/check_report.h"

namespace cleave::cli {
namespace {

// Whether the input is sound under the options.
bool is_sound(const Examination& examination, const Arguments& arguments) {
    if (examination.findings.divergence && arguments.requires_one_reading) return false;
    if (examination.findings.open_quote && !arguments.allows_open_quote) return false;
    if (examination.json && examination.json->not_json.count > 0) return false;
    return arguments.allows_ragged || examination.census.ragged.count == 0;
}

// The lines of the problems that the report shows with their record. Reads the input again up to the last of them.
std::map<std::uint64_t, std::uint64_t> lines_of(const Examination& examination, const OpenInput& opened) {
    std::map<std::uint64_t, std::uint64_t> lines;
    if (examination.json && opened.dialect.preamble == 0) {
        for (const JsonLineFault& fault : examination.json->not_json.listed) {
            lines[fault.place.offset] = fault.place.record + 1;
        }
        return lines;
    }
    if (opened.input.is_stream()) return lines;
    const auto add = [&](const std::optional<Place>& place) {
        if (place) lines[place->offset] = 0;
    };
    add(examination.findings.open_quote);
    add(examination.findings.divergence);
    add(examination.census.marks.first);
    add(examination.census.stray_quotes.first);
    for (const RaggedRecord& record : examination.census.ragged.listed) add(record.place);
    if (examination.json) {
        for (const JsonLineFault& fault : examination.json->not_json.listed) add(fault.place);
    }
    LineCounter counter(opened.input.blob(), opened.dialect.terminator);
    for (auto& [offset, line] : lines) line = counter.line_of(offset);
    return lines;
}

}  // namespace

bool check_input(Context& context, const Location& location, StandardOutput& out) {
    const Arguments& arguments = context.arguments;
    const bool reads_records = arguments.quasi || !arguments.stage.options.is_empty();
    if (arguments.shows_columns || arguments.shows_template || reads_records) {
        bool is_sound = true;
        with_input(context, location, nullptr, [&](OpenInput& opened) {
            const bool needs_columns = arguments.shows_columns || arguments.shows_template || arguments.quasi;
            if (needs_columns && is_json_lines(opened.dialect))
                throw UsageError(formatted("{}: JSON Lines has no columns; cleave check lists the keys of the records",
                                           location.shown()));
            if (arguments.shows_columns) {
                print_columns(context, opened, out);
            } else if (arguments.shows_template) {
                print_template(context, opened, out);
            } else {
                is_sound = check_rules(context, opened, out);
            }
        });
        out.flush();
        return is_sound;
    }
    CheckReport report;
    report.location = location;
    report.terminator_given = !arguments.dialect.sniff_terminator;
    with_input(context, location, nullptr, [&](OpenInput& opened) {
        report.sniffed = opened.sniffed;
        report.has_header = context.has_header();
        report.bom = bom_size(opened.input.peek(kSniffSize)) > 0;
        report.examination = examine(opened.input, opened.dialect, arguments.execution, arguments.max_listed);
        if (!arguments.json) report.lines = lines_of(report.examination, opened);
        report.compression = opened.input.compression();
        report.encoding = opened.input.encoding();
        report.file_size = opened.input.identity().size;
    });
    report.sound = is_sound(report.examination, arguments);
    if (arguments.json) {
        print_json(out, report);
    } else {
        print_text(out, report, wants_colour(STDOUT_FILENO), is_terminal(STDOUT_FILENO));
    }
    out.flush();
    return report.sound;
}

}  // namespace cleave::cli
