#include "cli/planned.h"

#include <fcntl.h>

#include "cli/formatted.h"
#include "cli/messages.h"
#include "io/fd.h"

namespace cleave::cli {

void require_ranges(const Context& context, const Input& input) {
    if (!input.is_stream()) return;
    const bool is_compressed = input.compression() != Compression::kNone;
    throw UsageError(formatted("{}: a range can be read only of a plain regular file{}", display_name(context.path),
                               is_compressed ? ", and it is compressed" : "; scan - takes the bytes of a range"));
}

InputVersion version_of(const Arguments& arguments, const Input& input) {
    if (!arguments.input_version.empty()) return {input.blob().size(), arguments.input_version};
    return {input.blob().size(), formatted("mtime_ns:{}", input.identity().mtime_ns)};
}

RangePlan take_plan_file(Context& context) {
    Arguments& arguments = context.arguments;
    context.path = arguments.plan;
    const Fd file(::open(arguments.plan.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) throw_errno(arguments.plan);
    RangePlan plan = parse_plan_text(read_to_end(file.get(), std::string::npos, arguments.plan));
    arguments.dialect = {plan.dialect, false, false};
    arguments.policy.header = plan.header;
    arguments.lenient = plan.findings.open_quote.has_value();  // so was the plan made
    return plan;
}

void require_version(const Context& context, const RangePlan& plan, const Input& input) {
    const InputVersion version = version_of(context.arguments, input);
    if (version.size != plan.input.size)
        throw InputChangedError(
            formatted("it has {} bytes, and the plan is of {} bytes", version.size, plan.input.size));
    if (version != plan.input)
        throw InputChangedError(formatted("it is version {}, and the plan is of version {}; see --input-version",
                                          display_name(version.name), display_name(plan.input.name)));
}

std::vector<Piece> planned_pieces(const Context& context, const RangePlan& plan, const Input& input, std::size_t first,
                                  std::size_t count) {
    const std::size_t ends = first + count < plan.cuts.size() ? count + 1 : count;
    const auto find = [&] {
        return find_cuts(input.blob(), plan.dialect, std::span(plan.cuts).subspan(first, ends),
                         context.arguments.execution, input.cancellation());
    };
    std::vector<Boundary> bounds = find();
    if (input.accept_touch() && find() != bounds) throw InputChangedError();
    input.throw_if_changed();
    if (ends == count) bounds.push_back(plan.end());
    const std::uint64_t header_records = plan.header == HeaderMode::kNone ? 0 : plan.findings.header_records;
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
