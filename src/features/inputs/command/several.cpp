// Several inputs of split, cat and sample.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cleave/foreign.h"
#include "cleave/names.h"
#include "cli/diagnostics.h"
#include "cli/feature_parts.h"
#include "cli/formatted.h"
#include "cli/named.h"
#include "cli/other_tools.h"
#include "cli/session.h"
#include "core/dialect/fit.h"
#include "core/reader/fd.h"
#include "core/reader/temporary_file.h"
#include "core/writer/destination.h"
#include "engine/joined.h"

namespace cleave::cli {
namespace {

bool is_file_at(const std::string& path, const std::string& place) {
    std::error_code error;
    return std::filesystem::equivalent(path, place, error);
}

std::string_view suffix_of(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
    const std::size_t dot = without_compression_suffix(name).rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(dot);
}

LoneReturns lone_returns_of(Input& input, const Dialect& dialect) {
    const std::size_t begin = std::max<std::size_t>(dialect.preamble, bom_size(input.peek(4)));
    const auto bytes = input.peek(begin + kSniffSize).subspan(begin);
    LoneReturns returns = terminator_fit_of(dialect, {bytes, bytes.size() < kSniffSize}).lone_returns;
    if (returns.first) *returns.first += begin;
    return returns;
}

// Pieces, and what is written beside them, must not replace an input, and the pattern that found the inputs should not
// find pieces the next time. Throws UsageError.
void heed_names(Context& context) {
    const Arguments& arguments = context.arguments;
    const OutputOptions& output = arguments.output;
    if (arguments.verb != Verb::kSplit || !destination_of(output).leaves_files) return;
    const bool is_by_value = arguments.policy.by && !arguments.policy.by->buckets;
    const PieceNamer namer(output.names, context.location.name(), output.first_index, 1,
                           is_by_value ? std::optional<std::uint64_t>(1) : std::nullopt);
    const std::string folder(namer.folder());
    const std::string rejects = arguments.rejects ? arguments.rejects->path : "";
    bool is_beside = false;
    for (const Location& location : arguments.inputs.all()) {
        if (location.is_url() || location.is_stream()) continue;
        const std::string& input = location.name();
        const std::string beside = folder + input.substr(input.rfind('/') + 1);
        if ((namer.could_name(beside) || namer.could_name_by_value(beside)) && is_file_at(input, beside))
            throw UsageError(formatted("'{}' is an input, and might become a piece", input));
        for (const std::string& written : {output.manifest, output.report, rejects}) {
            if (is_file_at(input, written))
                throw UsageError(formatted("'{}' is an input, and would be replaced", input));
        }
        const std::string home(folder_of(input));
        is_beside = is_beside || (suffix_of(input) == suffix_of(output.names) &&
                                  is_file_at(home.empty() ? "." : home, folder.empty() ? "." : folder));
    }
    if (!is_beside) return;
    Diagnostics(context).warn(formatted(
        "the pieces are beside the inputs; a pattern such as *{} finds both the next time", suffix_of(output.names)));
}

}  // namespace

void take_several(const Given& given, Arguments& arguments) {
    const LocationList& inputs = arguments.inputs;
    if (const std::string* const list = given.text("inputs-from")) {
        if (!inputs.empty()) throw UsageError(formatted("--inputs-from and '{}' both name inputs", inputs[0].bare()));
        if (list->empty()) throw UsageError("--inputs-from: '' names no file");
        arguments.inputs_from = *list;
    }
    if (!joins_inputs(arguments.verb)) return;
    const bool has_names = arguments.verb != Verb::kSplit || given.has("output") || given.has("filter");
    const std::string hint = inputs.empty() ? "" : second_input_hint(arguments.verb, inputs, has_names);
    const auto is_there = [](const Location& input) {
        std::error_code error;
        return input.is_url() || input.is_stream() || std::filesystem::exists(input.name(), error);
    };
    if (!hint.empty() && !std::ranges::all_of(inputs.all(), is_there))
        throw UsageError(formatted("'{}' is taken for a second input{}", inputs[1].bare(), hint));
    if (!has_names) throw UsageError("several inputs need -o for the names of the pieces");
    for (const char* option : {"snapshot", "plan", "sign", "reflink"}) {
        if (given.has(option)) throw UsageError(formatted("--{} takes one input", option));
    }
    arguments.columns_by_name = given.has("columns-by-name");
    arguments.drops_unknown = given.has("drop-unknown");
    if (arguments.drops_unknown && !arguments.columns_by_name)
        throw UsageError("--drop-unknown needs --columns-by-name");
    for (const char* option : {"rejects", "no-header"}) given.refuse_both("columns-by-name", option);
}

void list_inputs(Arguments& arguments) {
    if (arguments.inputs_from.empty()) return;
    const Location list(arguments.inputs_from);
    std::string text = read_to_end(open_file(list).get(), std::string::npos, list.shown());
    const char end = text.find('\0') == std::string::npos ? '\n' : '\0';
    arguments.inputs = LocationList(std::move(text), end);
    if (arguments.inputs.empty()) throw UsageError(formatted("--inputs-from: {} lists no input", list.shown()));
}

void join_inputs(Context& context, OpenInput& opened) {
    const Arguments& arguments = context.arguments;
    if (arguments.columns_by_name && is_json_lines(opened.dialect))
        throw UsageError("--columns-by-name: JSON Lines has no columns");
    heed_names(context);
    constexpr std::size_t kMostNamed = 3;
    std::string others;  // that --encoding auto takes for something else than the first
    std::size_t other_count = 0;
    std::size_t doubtful_count = 0;
    JoinOptions options;
    options.inputs = &arguments.inputs;
    const Cancellation* const cancellation = opened.input.cancellation();
    options.open = [&context, cancellation](std::size_t number) {
        return open_input(context, context.arguments.inputs[number], cancellation, Access::kRead);
    };
    options.examine = [&](std::size_t number, Input& input, SniffedDialect sniffed) {
        const Location first = std::exchange(context.location, arguments.inputs[number]);
        refuse_unfit(context, input, foreign_format(input.peek(kSniffSize)));
        const bool is_other = input.encoding() != opened.input.encoding() && !input.peek(1).empty();
        if (is_other && other_count++ < kMostNamed)
            others += formatted("{}{} as {}", others.empty() ? "" : ", ", context.location.shown(),
                                encoding_name(input.encoding()));
        if (arguments.dialect.sniff_terminator) sniffed.lone_returns = lone_returns_of(input, sniffed.dialect);
        const bool is_doubtful = sniffed.doubt != DialectDoubt::kNone || sniffed.lone_returns.count > 0;
        const auto joined = std::exchange(opened.joined, nullptr);  // so that the message is about this one
        if (is_doubtful && doubtful_count++ < kMostNamed) Diagnostics(context).take(sniffed);
        opened.joined = joined;
        context.location = first;
    };
    options.shows_names = arguments.stage.options.is_empty();
    options.dialect = opened.dialect;
    options.of_others = settled_options(opened.dialect);
    options.of_others.dialect.preamble = arguments.dialect.dialect.preamble;
    options.of_others.preamble = arguments.dialect.preamble;
    options.header = arguments.policy.header;
    options.by_name = arguments.columns_by_name;
    options.drops_unknown = arguments.drops_unknown;
    options.pauses = arguments.rejects.has_value();
    options.is_read_in_order = options.pauses || (arguments.verb == Verb::kCat && arguments.cat_piece == 0);
    options.execution = arguments.execution;
    cleave::join_inputs(opened.input, options, opened.joined);
    if (other_count > kMostNamed) others += formatted(", and {} more", other_count - kMostNamed);
    if (doubtful_count > kMostNamed)
        Diagnostics(context).warn(
            formatted("{} more inputs seem to have another dialect", doubtful_count - kMostNamed));
    if (arguments.encoding == Encoding::kAuto && other_count > 0)
        Diagnostics(context).remark(
            formatted("not all are read as {}: {}", encoding_name(opened.input.encoding()), others));
    if (!opened.input.is_stream()) opened.bar.resize(opened.input.blob().size());
    context.meter.reset();
}

}  // namespace cleave::cli
