// cleave cat: prints all records or one piece on standard output, unchanged or changed by rules.
#include <unistd.h>

#include <algorithm>

#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/planned.h"
#include "cli/range_printer.h"
#include "cli/rewritten_output.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "io/copy.h"
#include "io/stable_input.h"
#include "stage/program.h"

namespace cleave::cli {
namespace {

constexpr const char* kTarget = "write error";  // used in messages

void print_piece(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    spool(context, opened);
    const RecordIndex& index = index_of(context, opened);
    const Piece wanted = plan_piece(index, arguments.policy, arguments.cat_piece);
    const std::uint64_t written_header =
        header_size_in(arguments.policy.header, wanted.number, header_size(index, arguments.policy));
    require_same(context, opened);
    const Input& input = opened.input;
    copy_range(input.blob(), {0, written_header}, STDOUT_FILENO, kTarget, input.cancellation());
    copy_range(input.blob(), {wanted.start, wanted.length}, STDOUT_FILENO, kTarget, input.cancellation());
    require_same(context, opened);
}

// -r: the start of the first requested record, and of the record after the last one. The header is not included.
struct RunBounds {
    Boundary begin;
    Boundary end;
};

RunBounds find_run(const RecordIndex& index, const RecordRange& wanted, std::uint64_t header_records) {
    Locator locator(index);
    const std::uint64_t records = index.findings().records - header_records;
    const RunBounds run{locator.start_of(header_records + std::min(wanted.first - 1, records)),
                        locator.start_of(header_records + std::min(wanted.last, records))};
    if (run.end.offset < run.begin.offset) throw InputChangedError();
    return run;
}

// -r, with the header. Under HeaderMode::kFirst, the header is printed only if the first record is.
void print_range(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    spool(context, opened);
    const RecordIndex& index = index_of(context, opened);
    const RunBounds run = find_run(index, *arguments.range, context.header_records);
    const std::uint64_t header_size = Locator(index).start_of(context.header_records).offset;
    require_same(context, opened);
    RangePrinter printer(opened.input);
    printer.print({0, header_size_in(arguments.policy.header, arguments.range->first, header_size)});
    printer.print({run.begin.offset, run.end.offset - run.begin.offset});
    printer.flush();
    require_same(context, opened);
}

// --plan: reads only the piece, and the ranges in which it begins and ends.
void print_planned_records(Context& context, OpenInput& opened, const RangePlan& plan) {
    const Arguments& arguments = context.arguments;
    const Input& input = opened.input;
    require_ranges(context, input);
    require_version(context, plan, input);
    Diagnostics(context).take(plan.findings);
    const Piece piece = planned_pieces(context, plan, input, arguments.cat_piece - 1, 1).front();
    const std::uint64_t header = header_size_in(plan.header, piece.number, plan.header_size);
    copy_range(input.blob(), {0, header}, STDOUT_FILENO, kTarget, input.cancellation());
    copy_range(input.blob(), {piece.start, piece.length}, STDOUT_FILENO, kTarget, input.cancellation());
    throw_unless_same(
        input, [&] { return planned_pieces(context, plan, input, arguments.cat_piece - 1, 1).front() == piece; });
}

// Reads the plan given with --plan and checks that it contains the piece.
RangePlan plan_of_piece(Context& context) {
    RangePlan plan = take_plan_file(context);
    const Arguments& arguments = context.arguments;
    const std::uint64_t count = plan.cuts.size();
    if (arguments.cat_piece > count || arguments.policy.pieces.value_or(count) != count)
        throw UsageError(formatted("-n: the plan has {} {}", count, count == 1 ? "piece" : "pieces"));
    return plan;
}

// Without -n. A scan is needed only to find the end of a snapshot.
void print_all(Context& context, OpenInput& opened) {
    leave_out_incomplete(context, opened);
    Input& input = opened.input;
    std::uint64_t skipped = 0;
    if (context.arguments.policy.header == HeaderMode::kDrop) {
        skipped = read_head(input, opened.dialect, HeaderMode::kDrop, kMaxRecordLimit).size;
    }
    if (!input.is_stream()) {
        copy_range(input.blob(), {skipped, input.blob().size() - skipped}, STDOUT_FILENO, kTarget,
                   input.cancellation());
    } else {
        for (auto bytes = input.read(); !bytes.empty(); bytes = input.read()) {
            const std::uint64_t here = std::min<std::uint64_t>(skipped, bytes.size());
            write_all(STDOUT_FILENO, bytes.subspan(here), kTarget, input.cancellation());
            skipped -= here;
        }
    }
    require_same(context, opened);
}

// -r under rules.
void print_rewritten_range(const Context& context, RewrittenOutput& output, const Rewriting::Write& write) {
    const Arguments& arguments = context.arguments;
    Rewriting& rewriting = output.rewriting();
    const RunBounds run = find_run(rewriting.index(), *arguments.range, context.header_records);
    const bool has_header =
        header_size_in(arguments.policy.header, arguments.range->first, rewriting.header_size()) > 0;
    if (has_header) rewriting.write_header(write);
    rewriting.write_run({run.begin.offset, run.end.offset - run.begin.offset}, run.begin.record,
                        arguments.execution.thread_count(), write);
}

// Prints the records that the rules produce. Applies the rules even if they change nothing, because a user who names
// columns must hear about a record that has different columns.
void print_staged_records(Context& context, OpenInput& opened) {
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

}  // namespace

void run_cat(Context& context) {
    if (!context.arguments.plan.empty()) {
        const RangePlan plan = plan_of_piece(context);
        with_input(context, context.arguments.inputs.front(), nullptr,
                   [&](OpenInput& opened) { print_planned_records(context, opened, plan); });
        return;
    }
    with_input(context, context.arguments.inputs.front(), nullptr, [&](OpenInput& opened) {
        if (!context.arguments.stage.options.is_empty()) {
            print_staged_records(context, opened);
        } else if (context.arguments.range) {
            print_range(context, opened);
        } else if (context.arguments.cat_piece != 0) {
            print_piece(context, opened);
        } else {
            print_all(context, opened);
        }
    });
}

}  // namespace cleave::cli
