#include "cli/feature_parts.h"

#include "cli/chosen_records.h"
#include "cli/session.h"
#include "features/redact/command/rewritten_output.h"
#include "features/redact/stage/program.h"

namespace cleave::cli {
namespace {

// -r under rules.
void print_rewritten_range(Context& context, RewrittenOutput& output, const Rewriting::Write& write) {
    const Arguments& arguments = context.arguments;
    Rewriting& rewriting = output.rewriting();
    heed_range(context, rewriting.index().findings().records);
    const RunBounds run = find_run(rewriting.index(), *arguments.range, context.header_records);
    const bool has_header =
        header_size_in(arguments.policy.header, arguments.range->first, rewriting.header_size()) > 0;
    if (has_header) rewriting.write_header(write);
    rewriting.write_run({run.begin.offset, run.end.offset - run.begin.offset}, run.begin.record,
                        arguments.execution.thread_count(), write);
}

}  // namespace

void print_changed_records(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const bool has_passes = has_suppress(arguments.stage.options.rules);
    if (arguments.cat_piece != 0 || arguments.range || has_passes) spool_staged(context, opened);
    RewrittenOutput output(context, opened);
    const auto write = [&](std::span<const std::uint8_t> bytes) { output.write(bytes); };
    if (arguments.range) {
        print_rewritten_range(context, output, write);
    } else if (arguments.cat_piece != 0) {
        output.rewriting().write_one(arguments.cat_piece, write);
    } else {
        output.rewriting().write_all(write);
    }
    output.finish();
}

// The rules read no other records.
void print_changed_sample(Context& context, OpenInput& opened) {
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

}  // namespace cleave::cli
