// cleave cat: prints all records or one piece on standard output, unchanged or changed by rules.
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

#include "base/bits.h"
#include "cleave/function_ref.h"
#include "cli/chosen_records.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "core/offsets/input_head.h"
#include "core/reader/copy.h"
#include "core/reader/fd.h"
#include "core/reader/sequential_reader.h"
#include "core/reader/stable_input.h"
#include "core/scan/comparing_walker.h"

namespace cleave::cli {
namespace {

constexpr const char* kTarget = "write error";  // used in messages
// How much of a mapping is walked before the walker's record starts are examined.
constexpr std::size_t kPartSize = std::size_t{256} << 10;

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

// -r, as offsets of the input.
struct PrintedRanges {
    std::uint64_t header_size;
    BlobRange records;
};

// By an index of all records.
PrintedRanges ranges_by_index(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    const RecordIndex& index = index_of(context, opened);
    heed_range(context, index.findings().records);
    const RunBounds run = find_run(index, *arguments.range, context.header_records);
    const std::uint64_t header_size = Locator(index).start_of(context.header_records).offset;
    return {header_size_in(arguments.policy.header, arguments.range->first, header_size),
            {run.begin.offset, run.end.offset - run.begin.offset}};
}

// Where the n-th of these records starts, from 0.
std::uint64_t nth_start(std::span<const std::uint64_t> starts, std::uint64_t n) {
    std::size_t word = 0;
    for (; n >= count_bits(starts[word]); ++word) n -= count_bits(starts[word]);
    std::uint64_t bits = starts[word];
    for (; n > 0; --n) bits &= bits - 1;
    return word * kWordBits + first_bit(bits);
}

// `end`: of what was requested, unless the input ends before. What comes after it decides nothing.
void heed_findings(Context& context, const ComparingWalker& walker, const InputHead& head,
                   std::optional<std::uint64_t> end) {
    Findings findings = walker.findings();
    findings.header_records = head.records;
    if (end) {
        findings.open_quote.reset();
        if (findings.divergence && findings.divergence->offset >= *end) findings.divergence.reset();
    }
    Diagnostics(context).take(findings);
    if (!end) heed_range(context, findings.records);
}

// By reading the input in order, no further than the last of the records. Gives the bytes to print to `print` as they
// are read.
PrintedRanges ranges_in_order(Context& context, OpenInput& opened,
                              FunctionRef<void(std::span<const std::uint8_t>)> print) {
    const HeaderMode mode = context.arguments.policy.header;
    const auto [first, last] = *context.arguments.range;
    const InputHead head = read_head(opened.input, opened.dialect, mode, kMaxRecordLimit);
    const std::uint64_t body = head.has_header ? head.size : head.preamble;
    const std::uint64_t header_size = header_size_in(mode, first, body);
    std::optional<std::uint64_t> begin;
    std::optional<std::uint64_t> end;
    if (first == 1) begin = body;
    ComparingWalker walker = walker_of(opened.input, opened.dialect, context.arguments.execution);
    std::optional<SequentialReader> reader;
    if (!opened.input.is_mapped()) reader.emplace(opened.input, &context.meter);
    const auto read = [&] {
        if (reader) return reader->read();
        const auto rest = opened.input.bytes().subspan(walker.offset());
        return rest.first(std::min(rest.size(), kPartSize));
    };
    for (auto bytes = read(); !bytes.empty(); bytes = read()) {
        const std::uint64_t offset = walker.offset();
        const std::uint64_t before = walker.records();
        const auto starts = walker.walk(bytes);
        const auto find = [&](std::uint64_t data_record) -> std::optional<std::uint64_t> {
            const std::uint64_t records = walker.records() - std::min(walker.records(), head.records);
            if (data_record >= records || data_record + head.records < before) return std::nullopt;
            return offset + nth_start(starts, data_record + head.records - before);
        };
        const auto print_part = [&](std::uint64_t from, std::uint64_t to) {
            from = std::max(from, offset);
            to = std::min(to, walker.offset());
            if (from < to) print(bytes.subspan(from - offset, to - from));
        };
        if (!begin) begin = find(first - 1);
        if (begin) end = find(last);
        print_part(0, header_size);
        if (begin) print_part(*begin, end.value_or(UINT64_MAX));
        if (end) break;
    }
    heed_findings(context, walker, head, end);
    const std::uint64_t begins = begin.value_or(walker.offset());
    return {header_size, {begins, end.value_or(walker.offset()) - begins}};
}

// --last of a stream: what may be among the last records waits in memory.
void print_last(Context& context, OpenInput& opened) {
    constexpr std::size_t kMostWaiting = std::size_t{256} << 20;
    const HeaderMode mode = context.arguments.policy.header;
    Input& input = opened.input;
    const InputHead head = read_head(input, opened.dialect, mode, kMaxRecordLimit);
    const auto body = static_cast<std::size_t>(head.has_header ? head.size : head.preamble);
    const auto peeked = input.peek(body);
    const std::vector<std::uint8_t> header(peeked.begin(), peeked.end());
    ComparingWalker walker = walker_of(input, opened.dialect, context.arguments.execution);
    SequentialReader reader(input, &context.meter);
    std::deque<std::uint64_t> starts;  // of the last records, as offsets of the input
    std::vector<std::uint8_t> waiting;
    std::uint64_t origin = 0;  // of what waits
    for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
        std::uint64_t record = walker.records();
        std::uint64_t offset = walker.offset();
        waiting.insert(waiting.end(), bytes.begin(), bytes.end());
        for (std::uint64_t word : walker.walk(bytes)) {
            for (; word != 0; word &= word - 1, ++record) {
                if (record >= head.records) starts.push_back(offset + first_bit(word));
                if (starts.size() > *context.arguments.last) starts.pop_front();
            }
            offset += kWordBits;
        }
        const std::uint64_t begin = starts.empty() ? walker.offset() : starts.front();
        const auto passed = static_cast<std::size_t>(begin - origin);
        if (waiting.size() - passed > kMostWaiting)
            throw std::runtime_error("--last: the records take more than 256 MiB; save the input to a file first");
        if (passed < waiting.size() / 2) continue;
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(passed));
        origin = begin;
    }
    heed_findings(context, walker, head, std::nullopt);
    require_same(context, opened);
    const auto shown = header_size_in(mode, context.arguments.range->first, header.size());
    write_all(STDOUT_FILENO, std::span(header).first(static_cast<std::size_t>(shown)), kTarget, input.cancellation());
    if (starts.empty()) return;
    write_all(STDOUT_FILENO, std::span(waiting).subspan(static_cast<std::size_t>(starts.front() - origin)), kTarget,
              input.cancellation());
}

// -r, with the header. Under HeaderMode::kFirst, the header is printed only if the first record is. What comes after
// the last record is not read, unless it decides whether anything may be printed.
void print_range(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    Input& input = opened.input;
    const bool needs_all = opened.index || input.is_snapshot() || arguments.requires_one_reading;
    if (input.is_stream() && !needs_all && arguments.last) return print_last(context, opened);
    if (input.is_stream() && !needs_all) {
        ranges_in_order(context, opened, [&](std::span<const std::uint8_t> bytes) {
            write_all(STDOUT_FILENO, bytes, kTarget, input.cancellation());
        });
        require_same(context, opened);
        return;
    }
    spool(context, opened);
    const PrintedRanges ranges = needs_all || arguments.range->last == UINT64_MAX
                                     ? ranges_by_index(context, opened)
                                     : ranges_in_order(context, opened, [](auto) {});
    require_same(context, opened);
    RangePrinter printer(input);
    printer.print({0, ranges.header_size});
    printer.print(ranges.records);
    printer.flush();
    require_same(context, opened);
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

}  // namespace

void run_cat(Context& context) {
    if (!context.arguments.plan.empty()) return print_planned_piece(context);
    if (!context.arguments.rejected.empty()) return print_rejected(context);
    with_input(context, context.arguments.inputs.front(), nullptr, [&](OpenInput& opened) {
        if (!context.arguments.stage.options.is_empty()) {
            print_changed_records(context, opened);
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
