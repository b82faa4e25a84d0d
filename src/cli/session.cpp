#include "cli/session.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "cleave/foreign.h"
#include "cli/formatted.h"
#include "cli/option_table.h"
#include "cli/output.h"

namespace cleave::cli {
namespace {

constexpr char kRulesDiffer[] = "the quote rules field-start and anywhere cut this input differently";

// The number of the line with the byte at `offset`, from 1. A line ends with LF; with CR if records end with CR; with
// LF, CRLF and a lone CR if records may end with any of these. Line ends inside quotes count too. Nothing for a stream:
// its bytes are gone.
std::optional<std::uint64_t> line_of(const Context& context, std::uint64_t offset) {
    if (context.opened == nullptr || context.opened->input.is_stream()) return std::nullopt;
    const Blob& blob = context.opened->input.blob();
    const Terminator terminator = context.opened->dialect.terminator;
    std::vector<std::uint8_t> buffer;
    std::uint64_t ends = 0;
    for (std::uint64_t begin = 0; begin < offset;) {
        constexpr std::uint64_t kPartSize = std::uint64_t{1} << 20;
        const auto size = static_cast<std::size_t>(std::min(offset - begin, kPartSize));
        // With the byte that follows, if there is one.
        const auto has_next = static_cast<std::size_t>(begin + size < blob.size());
        const auto bytes = blob.lend(begin, size + has_next, buffer);
        ends += static_cast<std::uint64_t>(
            std::ranges::count(bytes.first(size), terminator == Terminator::kCr ? '\r' : '\n'));
        for (std::size_t i = 0; terminator == Terminator::kAny && i < size; ++i) {
            if (bytes[i] == '\r' && (i + 1 == bytes.size() || bytes[i + 1] != '\n')) ++ends;
        }
        begin += size;
    }
    return ends + 1;
}

// Whether the path needs no quoting as a word of a shell, and no escapes between quotes in SQL and Python.
bool is_plain_word(std::string_view path) {
    return std::ranges::all_of(path, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               std::string_view("/._+,:=@%-").find(c) != std::string_view::npos;
    });
}

// Says what the input is, and gives a command that prints it as CSV. `outer` is the compression that was decoded.
std::string foreign_text(const Context& context, const ForeignFormat& format, Compression outer) {
    const bool is_pipe = context.path == "-";
    const bool is_word = is_plain_word(context.path) && !context.path.starts_with('-');
    const std::string file = is_pipe ? "-" : is_word ? context.path : "FILE";
    const auto prints = [&](const std::string& name) {
        std::string command(format.command);
        return command.replace(command.find("FILE"), std::string_view("FILE").size(), name);
    };
    std::string command;
    if (outer == Compression::kNone && (!is_pipe || format.reads_pipe)) {
        command = prints(file);
    } else {
        const std::string decoder =
            outer == Compression::kNone ? "cat" : formatted("{} -dc {}", compression_name(outer), file);
        command = decoder + (format.reads_pipe ? " | " + prints("-") : " > PLAIN; " + prints("PLAIN"));
    }
    return formatted("{}, not CSV; try: {} | cleave {} ... -", format.name, command, verb_name(context.arguments.verb));
}

SniffedDialect settle(Context& context, Input& input) {
    const auto foreign = foreign_format(input.peek(kSniffSize));
    SniffedDialect sniffed;
    if (!foreign) sniffed = settle_dialect(context.arguments.dialect, input);
    if (input.accept_touch()) return settle(context, input);
    input.throw_if_changed();
    if (foreign) throw InputError(foreign_text(context, *foreign, input.compression()));
    if (sniffed.quotes_unexplained) {
        Judge(context).warn(
            "there are quotes, but no known delimiter stands before and after them; name it with --delimiter");
    }
    return sniffed;
}

std::string left_out_text(const Input& input) {
    return formatted("left out {} {} from byte {} on: the last record is not complete", input.left_out(),
                     input.left_out() == 1 ? "byte" : "bytes", input.blob().size());
}

void start(Meter& meter) { meter.scanned = meter.written = meter.pieces = 0; }

std::optional<std::uint64_t> size_to_scan(const Input& input) {
    if (!input.is_stream()) return input.blob().size();
    // A compressed file has a size. A pipe and a file that pretends to be empty have none.
    const std::uint64_t size = input.identity().size;
    return size > input.offset_in_file() ? std::optional(size - input.offset_in_file()) : std::nullopt;
}

std::string summary(const Context& context, double seconds) {
    const auto bytes = static_cast<double>(context.meter.scanned.load());
    const std::uint64_t pieces = context.meter.pieces.load();
    std::string text = formatted("{} read", size_text(bytes));
    if (pieces > 0) text += formatted(", {} {}", pieces, pieces == 1 ? "piece" : "pieces");
    return text + formatted(" in {:.3f} s, {}/s", seconds, size_text(bytes / seconds));
}

}  // namespace

void with_input(Context& context, const std::string& path, const Cancellation* cancellation,
                const std::function<void(OpenInput&)>& work) {
    const auto began = std::chrono::steady_clock::now();
    context.path = path;
    context.header_records = 0;
    start(context.meter);
    Input input =
        context.arguments.snapshot ? Input::open_snapshot(path, cancellation) : Input::open(path, cancellation);
    Bar bar(context.arguments, context.meter, size_to_scan(input), input.is_stream());
    OpenInput opened{std::move(input), {}, {}, bar};
    context.opened = &opened;
    const auto close = [&context](const OpenInput*) { context.opened = nullptr; };
    const std::unique_ptr<const OpenInput, decltype(close)> guard(&opened, close);
    try {
        opened.sniffed = settle(context, opened.input);
        opened.dialect = opened.sniffed.dialect;
        work(opened);
    } catch (const HeaderSizeError& error) {
        bar.end();
        opened.input.throw_if_changed();
        if (error.findings()) Judge(context).take(*error.findings());
        throw;
    } catch (const std::exception&) {
        bar.end();
        opened.input.rethrow();
    }
    bar.end();
    if (opened.input.left_out() > 0) Judge(context).remark(left_out_text(opened.input));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    if (context.arguments.verbose) Judge(context).remark(summary(context, elapsed.count()));
}

void spool(Context& context, OpenInput& opened) {
    if (!opened.input.is_stream()) return;
    opened.input.spool(&context.meter);
    start(context.meter);
    opened.bar.resize(opened.input.blob().size());
}

RecordIndex index_of(const Context& context, OpenInput& opened) {
    RecordIndex index = index_records(opened.input, opened.dialect, context.arguments.machine);
    throw_if_changed(context, opened, index);
    return index;
}

void throw_if_changed(const Context& context, const OpenInput& opened, const RecordIndex& index) {
    if (opened.input.accept_touch()) {
        const RecordIndex again(opened.input.blob(), opened.dialect, context.arguments.machine,
                                opened.input.cancellation());
        if (!again.has_same_records(index)) throw InputChangedError();
    }
    opened.input.throw_if_changed();
}

void Judge::remark(const std::string& text) const {
    if (!context_.arguments.quiet) print_message(formatted("{}: {}", display_name(context_.path), text));
}

std::string Judge::describe(const Place& place) const {
    return describe_place(place, context_.header_records, line_of(context_, place.offset));
}

std::string Judge::describe_open_quote(const Place& place) const {
    std::string rest = describe(place);  // "(byte 5, line 2, record 1)"
    rest.erase(0, rest.find(',') + 2);
    return formatted("quote opened at byte {} ({} is never closed", place.offset, rest);
}

std::string Judge::describe_oversize(const Piece& piece) const {
    const Place place{piece.start, piece.first_record - 1 + context_.header_records};
    const Policy& policy = context_.arguments.policy;
    const bool has_header = header_size_in(policy.header, piece.number, 1) > 0;
    return formatted("a record of {} bytes does not fit a piece of {} bytes{} {}", piece.length, *policy.size,
                     has_header ? " with the header" : "", describe(place));
}

void Judge::take(const Findings& findings) const {
    context_.header_records = context_.has_header() ? findings.header_records : 0;
    const Arguments& arguments = context_.arguments;
    if (findings.divergence && arguments.strict)
        throw InputError(formatted("{} {}; see --quoting", kRulesDiffer, describe(*findings.divergence)));
    if (findings.open_quote && !arguments.lenient) {
        throw InputError(describe_open_quote(*findings.open_quote) + "; cleave check shows it, --lenient accepts it");
    }
    if (arguments.quiet) return;  // to find a line number, the input is read again
    if (findings.divergence) warn(formatted("{} {}; see --quoting", kRulesDiffer, describe(*findings.divergence)));
    if (findings.open_quote) warn(describe_open_quote(*findings.open_quote));
}

void Judge::take(const Piece& piece) {
    if (!piece.oversize) return;
    if (context_.arguments.strict_size) {
        throw InputError(describe_oversize(piece) + "; without --strict-size it gets a piece to itself");
    }
    if (oversize_count_++ == 0) first_oversize_ = piece;
}

void Judge::conclude() const {
    if (oversize_count_ == 0 || context_.arguments.quiet) return;
    std::string text = describe_oversize(first_oversize_);
    if (oversize_count_ > 1) text += formatted("; {} more do not fit either", oversize_count_ - 1);
    warn(text + "; each gets a piece to itself");
}

std::string describe(const Context& context, const HeaderSizeError& error) {
    return formatted(
        "the header of {} bytes does not fit a piece of {} bytes; give -C at least {}, or leave the header out with "
        "--header drop",
        error.header_size(), *context.arguments.policy.size, error.header_size() + 1);
}

}  // namespace cleave::cli
