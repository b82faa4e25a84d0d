#include "cli/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/shell_word.h"
#include "base/text_bytes.h"
#include "cleave/foreign.h"
#include "cleave/rejects.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/named.h"
#include "cli/option_table.h"
#include "core/dialect/fit.h"
#include "core/offsets/input_head.h"
#include "core/reader/file_stream.h"
#include "core/reader/input_parts.h"
#include "core/scan/check_arguments.h"
#include "engine/joined.h"
#include "engine/rules.h"

namespace cleave::cli {
namespace {

// Whether the run could read the same bytes from a pipe instead, or convert them itself.
bool takes_pipe(const Arguments& arguments) {
    const Verb verb = arguments.verb;
    if (verb == Verb::kIndex || verb == Verb::kScan || !arguments.plan.empty() || arguments.snapshot) return false;
    if (arguments.index == IndexUse::kRequire || arguments.output.clone == CloneMode::kAlways) return false;
    const bool needs_all = verb == Verb::kSample || arguments.cat_piece != 0 || arguments.range ||
                           needs_two_passes(arguments.stage) ||
                           (verb == Verb::kSplit && needs_whole_input(arguments.policy));
    return !needs_all || arguments.stage.options.is_empty() || arguments.stage.may_spool;
}

// The path as a word of the command, or FILE if the command has the word inside other quotes, which a path could close.
std::string file_word(const Location& location, std::string_view command) {
    const std::string path = location.bare();
    const std::string file = path.starts_with('-') && !location.is_stream() ? "./" + path : path;
    const std::string word = shell_word(file);
    return word == file || command.find("'FILE'") == std::string_view::npos ? word : "FILE";
}

// The command that prints the file, or standard input for "-", decompressed.
std::string decoding_command(Compression format, const Location& location) {
    if (format == Compression::kZip) return location.is_stream() ? "funzip" : "unzip -p " + file_word(location, "");
    return formatted("{} -dc {}", compression_name(format), file_word(location, ""));
}

// Says what the input is and, if there is one, gives a command that prints it as CSV. `outer` is the compression that
// has been decoded.
std::string foreign_text(const Context& context, const ForeignFormat& format, Compression outer) {
    if (format.command.empty()) return formatted("{}, not CSV", format.name);
    const bool is_piped = takes_pipe(context.arguments);
    if (format.encoding != Encoding::kBytes && is_piped && context.arguments.encoding == Encoding::kBytes)
        return formatted("{}; add --encoding {}", format.name, encoding_name(format.encoding));
    const bool is_pipe = context.location.is_stream();
    const auto prints = [&](const std::string& name) {
        std::string command(format.command);
        return command.replace(command.find("FILE"), std::string_view("FILE").size(), name);
    };
    std::string command;
    if (outer == Compression::kNone && (!is_pipe || format.reads_pipe)) {
        command = prints(file_word(context.location, format.command));
    } else {
        const std::string decoder = outer == Compression::kNone ? "cat" : decoding_command(outer, context.location);
        command = decoder + (format.reads_pipe ? " | " + prints("-") : " > PLAIN; " + prints("PLAIN"));
    }
    return formatted("{}, not CSV; try: {} {} cleave {} ... {}", format.name, command, is_piped ? "|" : "> TEXT;",
                     verb_name(context.arguments.verb), is_piped ? "-" : "TEXT");
}

// For an input whose name promises compressed data, which it is not.
void heed_suffix(Context& context, Input& input) {
    const Compression named = compression_named_by(context.location.bare());
    if (named == Compression::kNone || input.compression() != Compression::kNone) return;
    const auto head = input.peek(kMagicSize);
    const std::string_view name = compression_name(named);
    if (is_cut_short(named, head))
        throw InputError(formatted("it has {} {}, and no {} data; is it the rest of a failed transfer?", head.size(),
                                   head.size() == 1 ? "byte" : "bytes", name));
    if (foreign_format(input.peek(kSniffSize))) return;
    Diagnostics(context).warn(
        formatted("the name ends in {}, but this is no {} data; it is read as it is", compression_suffix(named), name));
}

void heed_missing_header(Context& context, Input& input, const Dialect& dialect) {
    const Arguments& arguments = context.arguments;
    if (arguments.is_header_given || header_mode(arguments.header, dialect) == HeaderMode::kNone) return;
    if (is_json_lines(dialect) || dialect.preamble > 0) return;
    if (seems_headerless(input.peek(kSniffSize), dialect))
        Diagnostics(context).warn("the first record looks like data; if there is no header, use -H");
}

SniffedDialect settle(Context& context, Input& input) {
    const auto foreign = foreign_format(input.peek(kSniffSize));
    SniffedDialect sniffed;
    if (!foreign) sniffed = settle_dialect(context.arguments.dialect, input);
    if (input.accept_touch()) return settle(context, input);
    refuse_unfit(context, input, foreign);
    if (context.arguments.encoding == Encoding::kAuto)
        Diagnostics(context).remark(formatted("read as {}", encoding_name(input.encoding())));
    Diagnostics(context).take(sniffed);
    heed_missing_header(context, input, sniffed.dialect);
    return sniffed;
}

bool is_only_selected(const StageOptions& options) {
    return options.rules.empty() && !options.default_action && options.forbid.empty() &&
           options.forbid_patterns.empty();
}

// A suffix that settles the delimiter is as good as -d for columns by number, but not where rules redact.
void heed_name(Context& context, const SniffedDialect& sniffed) {
    Arguments& arguments = context.arguments;
    const bool is_given = !arguments.dialect.sniff_delimiter || (sniffed.delimiter_reason == DelimiterReason::kName &&
                                                                 is_only_selected(arguments.stage.options));
    arguments.stage.options.is_delimiter_given = is_given;
    if (arguments.policy.by) arguments.policy.by->is_delimiter_given = is_given;
    if (arguments.policy.together) arguments.policy.together->is_delimiter_given = is_given;
    if (arguments.quasi) arguments.quasi->is_delimiter_given = is_given;
    if (arguments.sensitive) arguments.sensitive->is_delimiter_given = is_given;
}

std::string left_out_text(const Input& input) {
    return formatted("left out {} {} from byte {} on: the last record is incomplete", input.left_out(),
                     input.left_out() == 1 ? "byte" : "bytes", input.blob().size());
}

std::optional<std::uint64_t> size_to_scan(const Input& input) {
    if (!input.is_stream()) return input.blob().size();
    // A compressed file has a size; a pipe does not, and neither does a file that reports size 0.
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

void sift_if_wanted(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    if (!arguments.rejects) return;
    const Policy& policy = arguments.policy;
    context.header_records =
        read_head(opened.input, opened.dialect, policy.header, arguments.rejects->max_record).records;
    opened.sifting =
        sift(opened.input, opened.dialect, policy, *arguments.rejects, arguments.execution, opened.joined.get());
    context.meter.reset();
}

// For verbs other than split, whose pieces appear together with the file.
void keep_rejects(Context& context, OpenInput& opened) {
    if (!opened.sifting || context.arguments.verb == Verb::kSplit) return;
    const RejectCounts counts = opened.sifting->publish();
    opened.sifting->commit();
    Diagnostics(context).take(counts);
}

// Names the one of several inputs that the current exception is about.
void name_faulty(Context& context, const OpenInput& opened) {
    const auto faulty = opened.joined ? opened.joined->faulty() : std::nullopt;
    if (!faulty) return;
    context.location = context.arguments.inputs[faulty->input];
    context.header_records = faulty->header_records;
}

// Throws the error with its place in the input, or in the one of several that it is in.
void throw_in_input(Context& context, const OpenInput& opened, const InputError& error) {
    const bool is_sifted = opened.sifting && context.arguments.verb != Verb::kSplit;  // its job has seen to that
    const bool is_joined = opened.joined && !opened.joined->faulty();
    if (is_joined && !error.place() && !context.is_about_one)
        context.location = Location(formatted("{} inputs", context.arguments.inputs.size()));
    if (!error.place() || !(is_sifted || is_joined)) return;
    Place place = is_sifted ? opened.sifting->in_input(*error.place()) : *error.place();
    if (is_joined) {
        const InputPlace at = opened.joined->find(place);
        context.location = context.arguments.inputs[at.input];
        context.header_records = at.header_records;
        place = at.place;
        if (at.is_rearranged)
            throw InputError(formatted("{} (record {})", error.what(), record_number(at.place, at.header_records)));
    }
    throw InputError(error.what(), place);
}

// Goes on to the first of several inputs that has more than a mark, a preamble and, under a header, line ends; or to
// the last.
void pass_over_empty(Context& context, Input& input, const Cancellation* cancellation) {
    LocationList& inputs = context.arguments.inputs;
    while (inputs.size() > 1) {
        const auto bytes = input.peek(kSniffSize);
        const bool seems_compressed = compression_named_by(context.location.name()) != Compression::kNone;
        if (seems_compressed && input.compression() == Compression::kNone) return;
        if (bytes.size() == kSniffSize) return;
        const Dialect dialect = settle_dialect(context.arguments.dialect, input).dialect;
        const auto text = bytes.subspan(std::max<std::size_t>(dialect.preamble, bom_size(bytes)));
        const bool has_header = header_mode(context.arguments.header, dialect) != HeaderMode::kNone;
        if (!std::ranges::all_of(text, is_line_break) || (!text.empty() && !has_header)) return;
        inputs.remove_first();
        context.location = inputs.front();
        input = open_input(context, context.location, cancellation, Access::kMapped);
    }
}

}  // namespace

Input open_input(const Context& context, const Location& location, const Cancellation* cancellation, Access access) {
    const Arguments& arguments = context.arguments;
    if (arguments.snapshot && location.is_url()) throw UsageError("--snapshot: objects do not grow");
    if (arguments.snapshot) return Input::open_snapshot(location.name(), cancellation, access);
    Input input = open_named(context, location, cancellation, arguments.encoding, access);
    FileStream* const stream = InputParts::stream(input);
    if (stream != nullptr && arguments.rejects && arguments.rejects->takes_encoding()) stream->keep_invalid();
    return input;
}

void refuse_unfit(Context& context, Input& input, const std::optional<ForeignFormat>& foreign) {
    heed_suffix(context, input);
    if (foreign) throw InputError(foreign_text(context, *foreign, input.compression()));
}

void with_input(Context& context, const Location& location, const Cancellation* cancellation,
                FunctionRef<void(OpenInput&)> work) {
    const auto began = std::chrono::steady_clock::now();
    context.location = location;
    context.header_records = 0;
    context.are_records_lines = false;
    context.meter.reset();
    Input input = open_input(context, location, cancellation, Access::kMapped);
    const bool are_joined = joins_inputs(context.arguments.verb) && context.arguments.inputs.size() > 1;
    if (are_joined) pass_over_empty(context, input, cancellation);
    input.set_threads(context.arguments.execution.thread_count());
    if (location.is_stream() && is_terminal(STDIN_FILENO))
        Diagnostics(context).remark("reading from the terminal; Ctrl-D ends it");
    Bar bar(context.arguments, context.meter, size_to_scan(input), input.is_stream());
    OpenInput opened{std::move(input), {}, {}, bar, nullptr, std::nullopt, nullptr, nullptr, nullptr};
    if (!context.arguments.sign.empty()) opened.hash = make_input_hash(opened.input);
    context.opened = &opened;
    const auto close = [&context](const OpenInput*) {
        context.opened = nullptr;
        context.arguments.execution.index = nullptr;
    };
    const std::unique_ptr<const OpenInput, decltype(close)> guard(&opened, close);
    try {
        opened.sniffed = settle(context, opened.input);
        opened.dialect = ValidDialect(opened.sniffed);
        heed_name(context, opened.sniffed);
        context.are_records_lines = is_json_lines(opened.dialect) && opened.dialect.preamble == 0;
        context.arguments.policy.header = header_mode(context.arguments.header, opened.dialect);
        if (are_joined) join_inputs(context, opened);
        sift_if_wanted(context, opened);
        opened.index = find_index(context, opened);
        context.arguments.execution.index = opened.index;
        work(opened);
        keep_rejects(context, opened);
    } catch (const HeaderSizeError& error) {
        bar.end();
        require_same(context, opened);
        if (error.findings()) Diagnostics(context).take(*error.findings());
        throw;
    } catch (const InputError& error) {
        bar.end();
        name_faulty(context, opened);
        opened.input.throw_if_changed();
        throw_in_input(context, opened, error);
        throw;
    } catch (const std::exception&) {
        bar.end();
        name_faulty(context, opened);
        opened.input.rethrow();
    }
    bar.end();
    if (opened.input.left_out() > 0) Diagnostics(context).remark(left_out_text(opened.input));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
    if (context.arguments.verbose) Diagnostics(context).remark(summary(context, elapsed.count()));
}

void require_same(const Context& context, const OpenInput& opened) {
    if (opened.records) {
        rescan_if_touched(opened.input, *opened.records, opened.dialect, context.arguments.execution);
    } else {
        opened.input.throw_if_changed();
    }
}

const RecordIndex& index_of(Context& context, OpenInput& opened) {
    opened.records.emplace(index_records(opened.input, opened.dialect, context.arguments.execution));
    Diagnostics(context).take(opened.records->findings());
    return *opened.records;
}

void spool(Context& context, OpenInput& opened) {
    if (!opened.input.is_stream()) return;
    opened.input.spool(&context.meter);
    context.meter.reset();
    opened.bar.resize(opened.input.blob().size());
}

void leave_out_incomplete(const Context& context, OpenInput& opened) {
    if (!opened.input.is_snapshot()) return;
    Execution quiet = context.arguments.execution;
    quiet.meter = nullptr;
    index_records(opened.input, opened.dialect, quiet);
}

}  // namespace cleave::cli
