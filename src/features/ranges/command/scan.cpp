// cleave scan: prints the summary of a range of bytes. If the range comes on standard input, each part is summarised as
// it arrives, and the summaries are composed.
#include <unistd.h>

#include <optional>
#include <vector>

#include "cleave/experimental/range_plan.h"
#include "cli/formatted.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "core/reader/fd.h"
#include "core/reader/stable_input.h"
#include "features/ranges/command/planned.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kScannedSize = std::size_t{16} << 20;

void print_summary(const RangeSummary& summary, const InputVersion& input) {
    StandardOutput out;
    out.print("{}\n", range_text(summary, input));
    out.flush();
}

void scan_file(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const Input& input = opened.input;
    require_ranges(context, input);
    const std::uint64_t size = input.blob().size();
    const ByteRange range = arguments.bytes;
    const std::uint64_t end = range.end.value_or(size);
    if (end > size || range.begin > end)
        throw InputError(formatted("it has {} bytes, but the range is {}-{}", size, range.begin, end));
    opened.bar.resize(end - range.begin);
    const RangeBlob blob(input.blob(), range.begin, end);
    const RangeSummary summary = read_stable(input, [&] {
        return summarise_range(blob, range.begin, opened.dialect, arguments.execution, input.cancellation());
    });
    print_summary(summary, version_of(arguments, input));
}

// Reads until the part is full. Returns false at the end of the input.
bool fill(std::vector<std::uint8_t>& part) {
    std::size_t filled = 0;
    for (std::size_t size = 1; size > 0 && filled < part.size(); filled += size) {
        size = read_some(STDIN_FILENO, std::span(part).subspan(filled), nullptr, "standard input");
    }
    const bool is_full = filled == part.size();
    part.resize(filled);
    return is_full;
}

void scan_pipe(Context& context) {
    const Arguments& arguments = context.arguments;
    const ByteRange range = arguments.bytes;
    const std::uint64_t wanted = *range.end - range.begin;
    std::vector<std::uint8_t> part(kScannedSize);
    std::optional<RangeSummary> summary;
    std::uint64_t at = range.begin;
    for (bool has_more = true; has_more;) {
        part.resize(kScannedSize);
        has_more = fill(part);
        if (part.size() > *range.end - at)
            throw InputError(formatted("there are more bytes than the {} of the range", wanted));
        if (at == 0 && settle_dialect(arguments.dialect, part, "").dialect.preamble > 0)
            throw InputError("it begins with a line sep=, which the other ranges on - do not show; use a FILE");
        const RangeSummary next = summarise_range(part, at, arguments.dialect.dialect, arguments.execution);
        summary = summary ? compose(*summary, next) : next;
        at += part.size();
    }
    if (at != *range.end)
        throw InputError(formatted("there are {} bytes, but the range has {}", at - range.begin, wanted));
    print_summary(*summary, {*arguments.input_size, arguments.input_version});
}

}  // namespace

void run_scan(Context& context) {
    context.location = context.arguments.inputs.front();
    if (context.location.is_stream()) {
        scan_pipe(context);
    } else {
        with_input(context, context.location, nullptr, [&](OpenInput& opened) { scan_file(context, opened); });
    }
}

}  // namespace cleave::cli
