#include "features/check/command/check_report.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/bar.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "engine/plan_json.h"

namespace cleave::cli {
namespace {

// Terminal escape sequences: bold green, bold red, reset.
constexpr std::string_view kGood = "\x1b[1m\x1b[32m";
constexpr std::string_view kBad = "\x1b[1m\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";

constexpr const char* kNone = "none";

// Prints the report line by line.
class TextReport {
public:
    TextReport(StandardOutput& out, const CheckReport& report, bool colour, bool groups)
        : out_(out), report_(report), name_(printable(report.location.shown())), colour_(colour), groups_(groups) {}

    void print() {
        const std::string names = names_text();
        print_verdict(!names.empty());
        print_size();
        print_not_text("not UTF-8", census().not_utf8, "; --encoding NAME converts");
        print_not_text("NUL bytes", census().nuls, "");
        if (examination().json) {
            print_json_lines(*examination().json);
            print_none();
            print_json_problems(examination().json->not_json);
            return;
        }
        print_records(names);
        print_dialect();
        print_quotes();
        print_none();
        print_problems();
    }

private:
    void line(const char* name, const std::string& text) const { out_.print("  {:<12} {}\n", name, text); }
    // Problems that were not found share the last row.
    void line_if_any(const char* name, const std::string& text) {
        text == kNone ? none_.push_back(name) : line(name, text);
    }
    void print_none() const {
        if (!none_.empty()) line(kNone, formatted("{}", fmt::join(none_, ", ")));
    }
    // Of bytes, records and so on; not an offset or the number of a record, which may be copied into a command.
    std::string amount(std::uint64_t count) const;
    std::string amount(std::uint64_t count, const char* thing) const {
        return formatted("{} {}{}", amount(count), thing, count == 1 ? "" : "s");
    }
    std::string painted(const std::string& text, std::string_view style) const {
        return colour_ ? formatted("{}{}{}", style, text, kPlain) : text;
    }
    std::string place(const Place& place) const { return describe_place(place, report_.header_records()); }

    void print_size() const;
    void print_json_lines(const JsonCensus& json);
    void print_json_problems(const JsonCensus::NotJson& not_json) const;
    void print_records(const std::string& names);
    void print_dialect() const;
    void print_quotes();
    void print_problems() const;
    void print_problem(const std::optional<Place>& place, const std::optional<Excerpt>& excerpt,
                       const std::string& what) const;
    void print_marks() const;
    void print_verdict(bool names_are_doubtful) const;
    void print_not_text(const char* what, const Tally& tally, const char* hint) const;
    void print_more_ragged() const;
    std::string print_place(const Place& place, const std::string& what) const;

    std::string ragged_problem(std::uint64_t fields) const;
    std::string longest_text() const;
    std::string tally_text(const Tally& tally, const char* what) const;
    std::string fields_text() const;
    std::string names_text() const;
    std::string ragged_text() const;
    std::string delimiter_text() const;
    std::string terminator_text() const;
    std::string line_ends_text() const;
    std::string line_breaks_text() const;

    const Examination& examination() const { return report_.examination; }
    const Census& census() const { return report_.examination.census; }

    StandardOutput& out_;
    const CheckReport& report_;
    std::string name_;
    bool colour_;
    bool groups_;  // digits, by three
    std::vector<const char*> none_;
};

std::string TextReport::amount(std::uint64_t count) const {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); groups_ && at > 3; at -= 3) text.insert(at - 3, ",");
    return text;
}

// The keys with their counts. All of them, because a program that makes such lines mostly writes few keys.
std::string keys_text(const JsonCensus& json) {
    if (json.has_more_keys) {
        return formatted("more than {}, or one of more than {} bytes", JsonCensus::kMostKeys, JsonCensus::kLongestKey);
    }
    std::string text = std::to_string(json.keys.size());
    for (const JsonKeyCount& key : json.keys) {
        text += formatted("{}{} ({})", &key == &json.keys.front() ? ": " : ", ", printable_data(key.name, 0).text,
                          key.count);
    }
    return text;
}

std::string describe_byte(std::optional<std::uint8_t> byte) {
    if (!byte) return "none";
    return *byte > ' ' && *byte < 0x7F ? std::string(1, static_cast<char>(*byte)) : formatted("\\x{:02x}", *byte);
}

void TextReport::print_size() const {
    const Findings& findings = examination().findings;
    constexpr std::uint64_t kMany = 1'000'000;  // more digits than people take in at a glance
    const std::string in_short =
        findings.size < kMany ? "" : formatted(" ({})", size_text(static_cast<double>(findings.size)));
    line("size", formatted("{} bytes{}{}", amount(findings.size), in_short,
                           report_.bom ? ", of which 3 are a UTF-8 byte order mark" : ""));
    if (const std::uint64_t preamble = report_.sniffed.dialect.preamble; preamble > 0) {
        line("preamble",
             formatted("{} bytes before the {}", amount(preamble), report_.shows_header() ? "header" : "records"));
    }
    if (report_.compression != Compression::kNone) {
        const std::string size = report_.file_size > 0 ? formatted(", {} bytes", amount(report_.file_size)) : "";
        line("compression", std::string(compression_name(report_.compression)) + size);
    }
    if (report_.encoding != Encoding::kBytes)
        line("encoding", formatted("{}, converted to UTF-8", encoding_name(report_.encoding)));
    line("records", formatted("{}{}", amount(report_.records()), report_.shows_header() ? " and a header" : ""));
}

void TextReport::print_records(const std::string& names) {
    line("fields", fields_text());
    if (!names.empty()) line("names", names);
    line_if_any("ragged", ragged_text());
    line("longest", longest_text());
    line_if_any("empty", tally_text(census().empty, "record"));
}

void TextReport::print_json_lines(const JsonCensus& json) {
    line_if_any("not JSON", tally_text(json.not_json, "line"));
    line_if_any("blank", tally_text(json.blank, "line"));
    line("keys", keys_text(json));
    line("longest", longest_text());
    const bool is_by_name = report_.sniffed.delimiter_reason == DelimiterReason::kName;
    line("dialect", formatted("JSON Lines ({})", is_by_name ? "by the file's name" : "given"));
    line("terminator", terminator_text());
    line("line ends", line_ends_text());
}

std::string TextReport::longest_text() const {
    const RecordExtent& longest = census().longest;
    return longest.size == 0 ? kNone : formatted("{} bytes {}", amount(longest.size), place(longest.start));
}

std::string TextReport::tally_text(const Tally& tally, const char* what) const {
    return tally.count == 0 ? kNone : formatted("{}, the first {}", amount(tally.count, what), place(*tally.first));
}

// The number of fields, and as many of their names as fit on a line.
std::string TextReport::fields_text() const {
    constexpr std::size_t kMaxSize = 60;
    std::string names;
    for (const std::string& name : column_names(report_)) {
        const std::string next = formatted("{}{}", names.empty() ? ": " : ", ", printable_data(name, 0).text);
        if (names.size() + next.size() > kMaxSize) {
            names += names.empty() ? ": ..." : ", ...";
            break;
        }
        names += next;
    }
    return std::to_string(examination().fields) + names;
}

// Missing and repeated names in the header, which some loaders refuse. Empty if there are none.
std::string TextReport::names_text() const {
    std::map<std::string, std::uint64_t> fields;
    std::uint64_t field = 0;
    std::uint64_t missing = 0;
    std::uint64_t repeated = 0;
    std::string text;
    for (const std::string& name : column_names(report_)) {
        ++field;
        if (name.empty()) {
            if (missing++ == 0) text += formatted("{}none for field {}", text.empty() ? "" : "; ", field);
        } else if (const auto [first, is_new] = fields.emplace(name, field); !is_new && repeated++ == 0) {
            text += formatted("{}{} is that of fields {} and {}", text.empty() ? "" : "; ",
                              printable_data(name, 0).text, first->second, field);
        }
    }
    const std::uint64_t more = missing + repeated - (missing > 0 ? 1 : 0) - (repeated > 0 ? 1 : 0);
    return more > 0 ? formatted("{}; and {} more", text, more) : text;
}

std::string TextReport::ragged_text() const {
    const Ragged& ragged = census().ragged;
    if (ragged.count == 0) return kNone;
    return formatted("{}, the first has {} {}", amount(ragged.count, "record"), numbered(ragged.fields, "field"),
                     place(*ragged.first));
}

void TextReport::print_dialect() const {
    const Dialect& dialect = report_.sniffed.dialect;
    line("delimiter", delimiter_text());
    line("quote", formatted("{}, quoting {}", describe_byte(dialect.quote), name_of(dialect.quoting)));
    line("escape",
         dialect.escape ? formatted("{}, {}", describe_byte(dialect.escape), name_of(dialect.escape_scope)) : "none");
    line("terminator", terminator_text());
    line("line ends", line_ends_text());
    line("line breaks", line_breaks_text());
}

std::string TextReport::delimiter_text() const {
    const DelimiterFit& fit = report_.sniffed.fit;
    const std::string byte = describe_byte(report_.sniffed.dialect.delimiter);
    switch (report_.sniffed.delimiter_reason) {
        case DelimiterReason::kGiven: return byte + " (given)";
        case DelimiterReason::kLine: return byte + " (by the first line)";
        case DelimiterReason::kName: return byte + " (by the file's name)";
        case DelimiterReason::kQuotes:
            return byte + " (sniffed: no delimiter splits most records, but this one explains the most quotes)";
        case DelimiterReason::kDefault: return byte + " (default: the data do not show it)";
        case DelimiterReason::kFit: break;
    }
    std::string text = byte + " (sniffed: ";
    if (fit.agreeing < fit.records) text += formatted("{} of ", fit.agreeing);
    text += fit.records == 1 ? "the first record has " : formatted("the first {} records have ", fit.records);
    text += numbered(fit.fields, "field");
    if (fit.quotes > 0) text += formatted(", {} quoted", fit.quotes);
    if (fit.misplaced_quotes > 0) text += formatted(", {} out of place", numbered(fit.misplaced_quotes, "quote"));
    return text + ")";
}

std::string TextReport::terminator_text() const {
    const char* name = name_of(report_.sniffed.dialect.terminator);
    if (report_.terminator_given) return formatted("{} (given)", name);
    const auto offset = report_.sniffed.terminator_offset;
    return offset ? formatted("{} (sniffed: the first one is at byte {})", name, *offset)
                  : formatted("{} (default: the data do not show it)", name);
}

std::string TextReport::line_ends_text() const {
    const TerminatorCounts& ends = census().terminators;
    std::string text;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0) text += formatted("{}{} {}", text.empty() ? "" : ", ", amount(count), what);
    };
    add(ends.lf, "LF");
    add(ends.crlf, "CRLF");
    add(ends.cr, "CR");
    if (ends.none > 0) text += text.empty() ? "none" : ", none after the last record";
    return text.empty() ? "none" : text;
}

std::string TextReport::line_breaks_text() const {
    if (census().quoted_breaks == 0 && census().data_breaks == 0) return "none inside fields";
    std::string text = formatted("{} inside quotes", amount(census().quoted_breaks));
    if (census().data_breaks > 0) text += formatted(", {} in other fields", amount(census().data_breaks));
    return text;
}

void TextReport::print_quotes() {
    const Findings& findings = examination().findings;
    const Tally& stray = census().stray_quotes;
    line_if_any("stray quotes",
                stray.count == 0 ? kNone : formatted("{}, the first {}", amount(stray.count), place(*stray.first)));
    line("quote modes", findings.divergence ? "differ " + place(*findings.divergence) : "agree");
    line_if_any("open quote", findings.open_quote ? "never closed " + place(*findings.open_quote) : kNone);
}

void TextReport::print_json_problems(const JsonCensus::NotJson& not_json) const {
    print_marks();
    for (const JsonLineFault& fault : not_json.listed) {
        const std::string what = "not JSON: " + fault.what;
        if (&fault == &not_json.listed.front()) {
            print_problem(fault.place, not_json.excerpt, what);
        } else {
            print_place(fault.place, what);
        }
    }
    const std::uint64_t left = not_json.count - not_json.listed.size();
    if (left > 0)
        out_.print("{}: {}; --all lists all of them\n", name_,
                   formatted("{} that {} not JSON", numbered(left, "more line"), left == 1 ? "is" : "are"));
}

void TextReport::print_problems() const {
    const Findings& findings = examination().findings;
    struct Problem {
        std::optional<Place> place;
        const std::optional<Excerpt>* excerpt;
        std::string what;
    };
    std::vector<Problem> problems = {
        {findings.open_quote, &examination().open_quote, "a quote is never closed"},
        {findings.divergence, &examination().divergence,
         "from here on the quote modes field-start and anywhere cut differently"},
        {census().ragged.first, &examination().ragged, ragged_problem(census().ragged.fields)},
    };
    if (census().stray_quotes.first != findings.divergence) {
        problems.push_back({census().stray_quotes.first, &examination().stray_quote,
                            "a stray quote: it neither opens a field nor closes a quoted one"});
    }
    print_marks();
    // In the order of the file: the first one is often the cause of the others.
    std::ranges::stable_sort(problems, {}, [](const Problem& each) { return each.place ? each.place->offset : 0; });
    for (const Problem& each : problems) print_problem(each.place, *each.excerpt, each.what);
    print_more_ragged();
}

// Also says what makes some readers refuse a sound input.
void TextReport::print_verdict(bool names_are_doubtful) const {
    std::vector<const char*> doubts;
    if (census().not_utf8.count > 0) doubts.push_back("not UTF-8");
    if (census().nuls.count > 0) doubts.push_back("with NUL bytes");
    if (names_are_doubtful) doubts.push_back("not every field has a name of its own");
    if (examination().findings.divergence) doubts.push_back("the quote modes differ");
    const char* const verdict = report_.sound ? "sound" : "not sound";
    out_.print("{}: {}{}{}\n", name_, painted(verdict, report_.sound ? kGood : kBad),
               report_.sound && !doubts.empty() ? ", but " : "",
               report_.sound ? formatted("{}", fmt::join(doubts, ", ")) : "");
}

void TextReport::print_not_text(const char* what, const Tally& tally, const char* hint) const {
    if (tally.count > 0) line(what, formatted("{}, the first {}{}", amount(tally.count), place(*tally.first), hint));
}

// Concatenating files that begin with a byte order mark leaves marks inside, which readers take for data.
void TextReport::print_marks() const {
    const Tally& marks = census().marks;
    if (marks.count == 0) return;
    const std::string more = marks.count > 1 ? formatted(", and {} more", marks.count - 1) : "";
    print_place(*marks.first, "a byte order mark that is not at the start of the input" + more);
}

std::string TextReport::ragged_problem(std::uint64_t fields) const {
    return formatted("{} where the {} has {}", numbered(fields, "field"),
                     report_.has_header ? "header" : "first record", examination().fields);
}

// The first ragged record has already been shown with its line; this prints one line for each of the others.
void TextReport::print_more_ragged() const {
    const Ragged& ragged = census().ragged;
    for (std::size_t i = 1; i < ragged.listed.size(); ++i) {
        print_place(ragged.listed[i].place, ragged_problem(ragged.listed[i].fields));
    }
    const std::uint64_t left = ragged.count - ragged.listed.size();
    if (left > 0) out_.print("{}: {}; --all lists all of them\n", name_, numbered(left, "more ragged record"));
}

// "NAME: record N, line L, byte B: WHAT", without the line if it is not known. Returns the label of the record.
std::string TextReport::print_place(const Place& place, const std::string& what) const {
    const std::uint64_t number = record_number(place, report_.header_records());
    std::string label = number == 0 ? "header" : std::to_string(number);
    const auto found = report_.lines.find(place.offset);
    const std::string line = found != report_.lines.end() ? formatted("line {}, ", found->second) : "";
    out_.print("{}: {}{}, {}byte {}: {}\n", name_, number == 0 ? "" : "record ", label, line, place.offset, what);
    return label;
}

// Prints the place, its line and a caret, as compilers do.
void TextReport::print_problem(const std::optional<Place>& place, const std::optional<Excerpt>& excerpt,
                               const std::string& what) const {
    if (!place || !excerpt) return;
    const std::string label = print_place(*place, what);
    constexpr std::string_view kCut = "...";
    const PrintableData shown = printable_data(excerpt->text, excerpt->caret);
    const std::string_view before = excerpt->is_cut_before ? kCut : "";
    out_.print("  {} | {}{}{}\n", label, before, shown.text, excerpt->is_cut_after ? kCut : "");
    out_.print("  {:{}} | {:{}}{}\n", "", label.size(), "", before.size() + shown.caret, painted("^", kBad));
}

}  // namespace

std::vector<std::string> column_names(const CheckReport& report) {
    const Examination& examination = report.examination;
    if (!report.shows_header() || examination.header.size > examination.head.size()) return {};
    const std::span<const std::uint8_t> head = examination.head;
    const std::size_t bom = examination.header.start.offset == 0 ? bom_size(head) : 0;
    return field_values(head.subspan(bom), report.sniffed.dialect);
}

void print_text(StandardOutput& out, const CheckReport& report, bool colour, bool groups) {
    TextReport(out, report, colour, groups).print();
}

}  // namespace cleave::cli
