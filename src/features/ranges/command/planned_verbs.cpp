#include "cli/feature_parts.h"

#include <unistd.h>

#include "cli/diagnostics.h"
#include "cli/formats.h"
#include "cli/formatted.h"
#include "cli/session.h"
#include "core/reader/copy.h"
#include "core/reader/stable_input.h"
#include "features/ranges/command/planned.h"

namespace cleave::cli {
namespace {

constexpr const char* kTarget = "write error";  // used in messages

// Reads only the piece, and the ranges in which it begins and ends.
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

// Reads only what it takes to find the unknown cuts.
void print_offsets(Context& context, OpenInput& opened, const RangePlan& plan) {
    const Arguments& arguments = context.arguments;
    const Input& input = opened.input;
    require_ranges(context, input);
    require_version(context, plan, input);
    Diagnostics(context).take(plan.findings);
    const std::vector<Piece> pieces = planned_pieces(context, plan, input, 0, plan.cuts.size());
    StandardOutput out;
    const auto writer = make_offsets_writer(arguments.format, out);
    InputFacts facts = facts_of(input, opened.dialect, plan.header);
    facts.size = plan.input.size;
    facts.header_size = plan.header_size;
    writer->start(facts);
    for (const Piece& piece : pieces) writer->piece(piece);
    writer->finish(facts);
    require_same(context, opened);
    out.flush();
}

}  // namespace

void print_planned_offsets(Context& context) {
    const RangePlan plan = take_plan_file(context);
    with_input(context, context.arguments.inputs.front(), nullptr,
               [&](OpenInput& opened) { print_offsets(context, opened, plan); });
}

void print_planned_piece(Context& context) {
    const RangePlan plan = plan_of_piece(context);
    with_input(context, context.arguments.inputs.front(), nullptr,
               [&](OpenInput& opened) { print_planned_records(context, opened, plan); });
}

}  // namespace cleave::cli
