#include "features/ranges/command/planned.h"

#include "cli/formatted.h"
#include "cli/named.h"
#include "core/reader/input_parts.h"
#include "core/reader/remote_file.h"
#include "core/reader/stable_input.h"

namespace cleave::cli {
namespace {

// Throws unless the first piece starts where the header ends. Any records in between would be in no piece.
void require_first_piece(const RangePlan& plan) {
    const bool has_header = plan.header != HeaderMode::kNone;
    const std::uint64_t preamble = std::min(plan.dialect.preamble, plan.findings.size);
    const Boundary body{has_header ? plan.header_size : preamble, plan.findings.records_before_data(has_header)};
    const auto fail = [](const char* why) {
        throw InputError(formatted("not a plan (the output of cleave plan): {}", why));
    };
    if (plan.header_size != body.offset) fail("it has a header, and its header mode is none");
    if (plan.cuts.empty()) {
        if (plan.findings.records > body.record) fail("it has records and no pieces");
        return;
    }
    const RangeCut& first = plan.cuts.front();
    const bool is_body = first.search == RangeCut::Search::kNone && Boundary{first.target, first.records} == body;
    if (!is_body) fail("its first piece does not start where the header ends");
}

}  // namespace

void require_ranges(const Context& context, const Input& input) {
    if (!input.is_stream()) return;
    const char* why = "; scan - takes the bytes of a range";
    if (input.compression() != Compression::kNone) why = ", and it is compressed";
    if (InputParts::is_gzip_file(input)) why = ", or from a gzip file with an index, which cleave index makes";
    if (input.encoding() != Encoding::kBytes) why = ", and it is converted to UTF-8";
    throw UsageError(
        formatted("{}: ranges can only be read from a plain regular file{}", context.location.shown(), why));
}

InputVersion version_of(const Arguments& arguments, const Input& input) {
    if (!arguments.input_version.empty()) return {input.blob().size(), arguments.input_version};
    const RemoteFile* const remote = input.remote();
    return {input.blob().size(),
            remote == nullptr ? formatted("mtime_ns:{}", input.identity().mtime_ns) : remote->version()};
}

RangePlan take_plan_file(Context& context) {
    Arguments& arguments = context.arguments;
    context.location = arguments.plan;
    RangePlan plan = parse_plan_text(read_named(context, arguments.plan));
    require_first_piece(plan);
    arguments.dialect = settled_options(plan.dialect);
    arguments.header = arguments.policy.header = plan.header;
    arguments.allows_open_quote = plan.findings.open_quote.has_value();  // as when the plan was made
    return plan;
}

void require_version(const Context& context, const RangePlan& plan, const Input& input) {
    const InputVersion version = version_of(context.arguments, input);
    if (version.size != plan.input.size)
        throw InputChangedError(
            formatted("it has {} bytes, but the plan is for {} bytes", version.size, plan.input.size));
    if (version != plan.input)
        throw InputChangedError(formatted("it is version {}, but the plan is for version {}; see --input-version",
                                          version.name, plan.input.name));
}

std::vector<Piece> planned_pieces(const Context& context, const RangePlan& plan, const Input& input, std::size_t first,
                                  std::size_t count) {
    const std::size_t ends = first + count < plan.cuts.size() ? count + 1 : count;
    std::vector<Boundary> bounds = read_stable(input, [&] {
        return find_cuts(input.blob(), plan.dialect, std::span(plan.cuts).subspan(first, ends),
                         context.arguments.execution, input.cancellation());
    });
    if (ends == count) bounds.push_back(plan.end());
    const std::uint64_t header_records = plan.findings.records_before_data(plan.header != HeaderMode::kNone);
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < count; ++i) {
        const Boundary from = bounds[i];
        const Boundary to = bounds[i + 1];
        const bool is_sound = from == to || (from.offset < to.offset && from.record < to.record);
        if (!is_sound || from.record < header_records || from.offset < plan.header_size) throw InputChangedError();
        pieces.push_back({first + i + 1, from.offset, to.offset - from.offset, from.record - header_records + 1,
                          to.record - from.record});
    }
    return pieces;
}

}  // namespace cleave::cli
