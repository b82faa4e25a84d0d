#include "cli/diagnostics.h"

#include <optional>

#include "cleave/rejects.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "core/scan/line_counter.h"
#include "engine/joined.h"

namespace cleave::cli {
namespace {

constexpr char kModesDiffer[] = "the quote modes field-start and anywhere cut this input differently";

// The number of the line that contains the byte. std::nullopt for a stream, because its bytes are gone.
std::optional<std::uint64_t> line_of(const Context& context, std::uint64_t offset) {
    if (context.opened == nullptr || context.opened->input.is_stream()) return std::nullopt;
    return LineCounter(context.opened->input.blob(), context.opened->dialect.terminator).line_of(offset);
}

const char* text_of(DialectDoubt doubt) {
    switch (doubt) {
        case DialectDoubt::kNone: break;
        case DialectDoubt::kNulTerminator:
            return R"(records seem to end with NUL (\x00), which is not a record terminator for cleave; convert it first: tr '\0' '\n')";
        case DialectDoubt::kRecordSeparator:
            return R"(records seem to end with \x1e, which is not a record terminator for cleave; convert it first: tr '\036' '\n')";
        case DialectDoubt::kUnitSeparator:
            return R"(records seem to end with \x1f, which is not a record terminator for cleave; convert it first: tr '\037' '\n')";
        case DialectDoubt::kJsonLines: return "this looks like JSON Lines, not CSV; --dialect jsonl reads it";
        case DialectDoubt::kJsonArray:
            return "this looks like a JSON array, not CSV; jq -c '.[]' makes lines of it, which --dialect jsonl reads";
        case DialectDoubt::kJsonText:
            return "this looks like JSON, not CSV; jq -c . makes lines of it, which --dialect jsonl reads";
        case DialectDoubt::kEscapedQuotes: return R"(backslashes seem to escape quotes; see --escape '\')";
        case DialectDoubt::kPlainQuotes: return "quotes seem to be plain data; see --no-quote";
        case DialectDoubt::kQuotesUnexplained:
            return "there are quotes, but no known delimiter before and after them; name it with --delimiter";
    }
    return nullptr;
}

}  // namespace

void Diagnostics::remark(const std::string& text) const {
    if (context_.arguments.quiet) return;
    const bool has_several = context_.opened != nullptr && context_.opened->joined;
    const std::string subject =
        has_several ? formatted("{} inputs", context_.arguments.inputs.size()) : context_.location.shown();
    print_message(formatted("{}: {}", subject, text));
}

std::string Diagnostics::describe(Place place, bool is_of_error) const {
    const OpenInput* const opened = context_.opened;
    if (opened == nullptr || (!opened->sifting && !opened->joined))
        return describe_place(place, context_.header_records, line_of(context_, place.offset));
    if (opened->sifting) place = opened->sifting->in_input(place);
    if (!opened->joined) return describe_place(place, context_.header_records, std::nullopt);
    const InputPlace at = opened->joined->find(place);
    const Location input = context_.arguments.inputs[at.input];
    std::string text = at.is_rearranged ? formatted("(record {})", record_number(at.place, at.header_records))
                                        : describe_place(at.place, at.header_records, std::nullopt);
    if (!is_of_error) return text + " of " + printable(input.shown());
    context_.location = input;
    context_.is_about_one = true;
    return text;
}

void Diagnostics::take(const RejectCounts& counts) const {
    if (counts.rejected == 0) return;
    const std::string place = counts.path.empty() ? "" : formatted("; {} has them", printable(counts.path));
    warn(formatted("{} of {} records were rejected{}", counts.rejected, counts.accepted + counts.rejected, place));
}

// `place` is described: "(byte 5, line 2, record 1)".
std::string Diagnostics::open_quote_text(const std::string& place) {
    const std::size_t comma = place.find(',');
    return formatted("quote opened at {} ({} is never closed", place.substr(1, comma - 1), place.substr(comma + 2));
}

// Never shows a value.
std::string Diagnostics::describe_oversize(const Piece& piece) const {
    // If rules change records or the column is dropped, piece.start is not an offset in the input.
    const std::optional<ByValue>& by = context_.arguments.policy.by;
    const bool is_changed = !context_.arguments.stage.options.is_empty() || (by && by->drops_columns);
    const std::string place = is_changed ? formatted("(record {})", piece.first_record)
                                         : describe({piece.start, piece.first_record - 1 + context_.header_records},
                                                    context_.arguments.strict_size);
    const Policy& policy = context_.arguments.policy;
    const bool has_header = context_.has_header() && header_size_in(policy.header, piece.number, 1) > 0;
    const std::string size =
        policy.max_bytes ? formatted("{} bytes{}", *policy.max_bytes, has_header ? " with the header" : "") : "";
    if (piece.records == 1)
        return formatted("a record of {} bytes does not fit into a piece of {} {}", piece.length, size, place);
    const std::string count = policy.records ? formatted("{} records", *policy.records) : "";
    return formatted("a run of {} records with one value, {} bytes, does not fit into a piece of {}{}{} {}",
                     piece.records, piece.length, count, policy.records && policy.max_bytes ? " and " : "", size,
                     place);
}

void Diagnostics::take(const SniffedDialect& sniffed) const {
    if (const char* text = text_of(sniffed.doubt)) warn(text);
    if (const std::uint64_t lines = sniffed.lines_like_preamble; lines > 0) {
        warn(formatted("the first {} far fewer fields than the records after {}; if {} not data, use --skip-lines {}",
                       lines == 1 ? "line has" : formatted("{} lines have", lines), lines == 1 ? "it" : "them",
                       lines == 1 ? "it is" : "they are", lines));
    }
    const LoneReturns& returns = sniffed.lone_returns;
    if (returns.count == 0) return;
    warn(
        formatted("in the first {} KiB, {} outside quotes {} not followed by an LF, the first at byte {}; try "
                  "--terminator any",
                  kSniffSize >> 10U, returns.count == 1 ? "1 CR" : formatted("{} CRs", returns.count),
                  returns.count == 1 ? "is" : "are", *returns.first));
}

void Diagnostics::take(const Findings& findings) const {
    context_.header_records = findings.records_before_data(context_.has_header());
    const Arguments& arguments = context_.arguments;
    if (findings.divergence && arguments.requires_one_reading)
        throw InputError(formatted("{} {}; cleave check shows the places, --quoting chooses", kModesDiffer,
                                   describe(*findings.divergence, true)));
    if (findings.open_quote && !arguments.allows_open_quote) {
        const bool can_accept = arguments.verb != Verb::kIndex;
        throw InputError(open_quote_text(describe(*findings.open_quote, true)) + "; cleave check shows it" +
                         (can_accept ? ", --allow-open-quote accepts it" : ""));
    }
    if (arguments.quiet) return;  // the warning would need a line number, so the input would be read again
    if (findings.divergence)
        warn(formatted("{} {}; cleave check shows the places, --quoting chooses", kModesDiffer,
                       describe(*findings.divergence, false)));
    if (findings.open_quote) warn(open_quote_text(describe(*findings.open_quote, false)));
}

void Diagnostics::take_oversize(const Piece& piece) {
    if (context_.arguments.strict_size) {
        throw InputError(describe_oversize(piece) + "; without --strict-size it gets its own piece");
    }
    if (oversize_count_++ == 0) first_oversize_ = piece;
}

void Diagnostics::take(const JobReport& report) const {
    const std::size_t count = report.older_pieces.size();
    if (count == 0) return;
    const bool has_rules = !context_.arguments.stage.options.is_empty();
    warn(formatted("{}{} there before this run, {}", report.older_pieces.front(),
                   count > 1 ? formatted(" and {} more were", count - 1) : " was",
                   has_rules   ? formatted("so no rule of this run was applied to {}", count > 1 ? "them" : "it")
                   : count > 1 ? "and are not pieces of it"
                               : "and is not a piece of it"));
}

void Diagnostics::conclude() const {
    if (oversize_count_ == 0 || context_.arguments.quiet) return;
    std::string text = describe_oversize(first_oversize_);
    if (oversize_count_ > 1)
        text += formatted("; {} more {}{}", oversize_count_ - 1, context_.arguments.policy.together ? "run" : "record",
                          oversize_count_ == 2 ? " does not fit" : "s do not fit");
    warn(text + "; each gets its own piece");
}

std::string describe(const Context& context, const HeaderSizeError& error) {
    const std::uint64_t limit = *context.arguments.policy.max_bytes;
    const std::uint64_t least = error.header_size() + 1;
    if (!context.has_header()) {
        return formatted("the {} bytes before the records do not fit into a piece of {} bytes; use -C {} or more",
                         error.header_size(), limit, least);
    }
    return formatted(
        "the header of {} bytes does not fit into a piece of {} bytes; use -C {} or more, or drop the header with "
        "--header drop",
        error.header_size(), limit, least);
}

}  // namespace cleave::cli
