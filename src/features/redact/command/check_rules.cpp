#include "cli/feature_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "cli/context.h"
#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "cli/standard_output.h"
#include "features/redact/command/rewritten_output.h"
#include "features/redact/lane/class_counts.h"
#include "features/redact/lane/record_classes.h"
#include "features/redact/lane/record_lane.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/run/signed_report.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/rules.h"

namespace cleave::cli {
namespace {

// The part of `cleave check` that measures how far people could be found in a file: check --quasi.
struct QuasiReport {
    std::vector<std::string> columns;
    std::optional<std::string> sensitive;
    ClassCounts written;
    std::optional<ClassCounts> read;  // before the rules, if there are any
    std::uint64_t size = 0;           // of the records as they are written, in bytes
};

// Reads all records. Throws RuleError for columns that do not exist, and what Rewriting::write_records() throws.
QuasiReport measure_quasi(const Arguments& arguments, Rewriting& rewriting);

Json quasi_json(const QuasiReport& report);
void print_quasi(const QuasiReport& report, StandardOutput& out);

// Reports say how many records are in classes below these sizes.
constexpr std::array<std::uint64_t, 4> kLimits{2, 3, 5, 10};

// The sizes that a line of the text stands for: from one of these up to the next.
constexpr std::array<std::uint64_t, 9> kBounds{1, 2, 3, 5, 10, 20, 50, 100, 1000};

// Fields handed over by the workers: first those that are written, then those that are read.
struct Questions {
    std::vector<std::size_t> written;  // columns of the input
    std::vector<std::size_t> read;
    std::vector<ClassQuestion> questions;
};

std::string name_of(const KeyColumn& column) { return column.header.empty() ? column.name : column.header; }

ClassQuestion question_of(std::size_t first, std::size_t keys, bool has_value) {
    ClassQuestion question;
    for (std::size_t i = 0; i < keys; ++i) question.keys.push_back(first + i);
    if (has_value) question.value = first + keys;
    return question;
}

// A column that the rules leave out tells nothing, so it does not count in what is written.
Questions questions_of(const std::vector<std::size_t>& columns, std::optional<std::size_t> sensitive,
                       const Arguments& arguments, const cleave::Stage& stage) {
    Questions all;
    const std::vector<std::size_t>& selected = stage.program().rules.selected;
    const auto is_written = [&](std::size_t column) { return std::ranges::find(selected, column) != selected.end(); };
    std::ranges::copy_if(columns, std::back_inserter(all.written), is_written);
    const std::size_t keys = all.written.size();
    const bool has_value = sensitive && is_written(*sensitive);
    if (has_value) all.written.push_back(*sensitive);
    all.questions.push_back(question_of(0, keys, has_value));
    if (arguments.stage.options.is_empty()) return all;
    all.read = columns;
    if (sensitive) all.read.push_back(*sensitive);
    all.questions.push_back(question_of(all.written.size(), columns.size(), sensitive.has_value()));
    return all;
}

void add_counts(Json& json, const ClassCounts& counts, bool has_sensitive) {
    json["records"] = counts.records;
    json["classes"] = counts.classes;
    json["k"] = counts.records > 0 ? Json(counts.smallest()) : Json(nullptr);
    for (const std::uint64_t limit : kLimits) json["below"][std::to_string(limit)] = counts.records_below(limit);
    if (has_sensitive) json["l"] = counts.diversity ? Json(*counts.diversity) : Json(nullptr);
    Json& sizes = json["sizes"] = Json::Array();
    for (const auto& [size, classes] : counts.sizes) {
        Json one;
        one["size"] = size;
        one["classes"] = classes;
        sizes.add(std::move(one));
    }
}

double percent(std::uint64_t part, std::uint64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void print_sizes(const ClassCounts& counts, StandardOutput& out) {
    out.print("    {:>10} {:>14} {:>14}\n", "class size", "classes", "records");
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        const bool is_last = i + 1 == kBounds.size();
        const auto end = is_last ? counts.sizes.end() : counts.sizes.lower_bound(kBounds[i + 1]);
        std::uint64_t classes = 0;
        std::uint64_t records = 0;
        for (auto one = counts.sizes.lower_bound(kBounds[i]); one != end; ++one) {
            classes += one->second;
            records += one->first * one->second;
        }
        if (classes == 0) continue;
        std::string sizes = std::to_string(kBounds[i]);
        if (is_last) sizes += '+';
        if (!is_last && kBounds[i + 1] > kBounds[i] + 1) sizes += "-" + std::to_string(kBounds[i + 1] - 1);
        out.print("    {:>10} {:>14} {:>14}\n", sizes, classes, records);
    }
}

void print_counts(const QuasiReport& report, const ClassCounts& counts, const char* when, StandardOutput& out) {
    const std::string columns = printable(formatted("{}", fmt::join(report.columns, ", ")));
    if (counts.records == 0) return out.print("  {}{}: no records\n", columns, when);
    out.print("  {}{}: k = {}, {} of {}\n", columns, when, counts.smallest(),
              formatted("{} {}", counts.classes, counts.classes == 1 ? "class" : "classes"),
              numbered(counts.records, "record"));
    if (counts.diversity) out.print("    l = {} of {}\n", *counts.diversity, printable(*report.sensitive));
    out.print("    risk of being found: at most {:.3g} %, on average {:.3g} %\n", percent(1, counts.smallest()),
              percent(counts.classes, counts.records));
    std::vector<std::string> below;
    below.reserve(kLimits.size());
    for (const std::uint64_t limit : kLimits) {
        below.push_back(formatted("{} below {}", counts.records_below(limit), limit));
    }
    out.print("    records in small classes: {}\n", fmt::join(below, ", "));
    print_sizes(counts, out);
}

QuasiReport measure_quasi(const Arguments& arguments, Rewriting& rewriting) {
    const cleave::Stage& stage = rewriting.stage();
    QuasiReport report;
    std::vector<std::size_t> columns;
    for (const KeyColumn& column : rewriting.find_columns(*arguments.quasi)) {
        columns.push_back(column.number);
        report.columns.push_back(name_of(column));
    }
    std::optional<std::size_t> sensitive;
    if (arguments.sensitive) {
        const std::vector<KeyColumn> found = rewriting.find_columns(*arguments.sensitive);
        const auto refuse = [&](const char* reason) {
            throw RuleError(reason, arguments.sensitive->columns.origin, arguments.sensitive->columns.text, 0);
        };
        if (found.size() > 1) refuse("this is more than one column");
        if (!found.empty()) {
            sensitive = found.front().number;
            report.sensitive = name_of(found.front());
            if (std::ranges::find(columns, *sensitive) != columns.end()) refuse("--quasi has this column too");
        }
    }
    const Questions all = questions_of(columns, sensitive, arguments, stage);
    const cleave::Stage keyed = with_keys(stage, all.written, false, all.read);
    RecordClasses classes(keyed, all.questions, arguments.execution);
    rewriting.write_records(classes.followers(), &keyed);
    classes.finish();
    report.written = classes.counts(0);
    if (all.questions.size() > 1) report.read = classes.counts(1);
    report.size = classes.size();
    return report;
}

Json quasi_json(const QuasiReport& report) {
    Json json;
    json["columns"] = report.columns;
    if (report.sensitive) json["sensitive"] = *report.sensitive;
    const bool has_sensitive = report.sensitive.has_value();
    add_counts(json, report.written, has_sensitive);
    if (report.read) add_counts(json["before"], *report.read, has_sensitive);
    return json;
}

void print_quasi(const QuasiReport& report, StandardOutput& out) {
    if (report.read) print_counts(report, *report.read, " before the rules", out);
    print_counts(report, report.written, report.read ? " after the rules" : "", out);
}

// An incomplete last record of a snapshot does not count as a header.
InputHead head_of(const Context& context, OpenInput& opened) {
    leave_out_incomplete(context, opened);
    return read_head(opened.input, opened.dialect, context.arguments.policy.header, kMaxRecordLimit);
}

// Such as "3 changed, 1 empty": zero counts are left out.
std::string counts_text(const RuleCounts& counts) {
    std::vector<std::string> parts;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0) parts.push_back(formatted("{} {}", count, what));
    };
    add(counts.changed, "changed");
    add(counts.kept, "kept");
    add(counts.empty, "empty");
    add(counts.condition_false, "condition false");
    if (counts.fewest_tokens > 0)
        parts.push_back(formatted("at least {} possible tokens for a value", counts.fewest_tokens));
    return parts.empty() ? "no field" : formatted("{}", fmt::join(parts, ", "));
}

void print_counts(const Context& context, const Rewriting& rewriting, const StageCounts& counts, StandardOutput& out) {
    const std::vector<StageRule> rules = rewriting.stage().rules();
    out.print("{}: {}, {} of them empty\n", printable(context.location.shown()), numbered(counts.records, "record"),
              counts.empty_records);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        out.print("  {} {}: {}: {}\n", printable(rules[i].source.origin),
                  printable(formatted("{}", fmt::join(rules[i].columns, ", "))), rules[i].operation,
                  counts_text(counts.rules[i]));
    }
    const std::vector<StageForbidden>& forbidden = rewriting.stage().forbidden();
    for (std::size_t i = 0; i < forbidden.size(); ++i) {
        if (counts.forbidden[i] == 0) continue;
        out.print("  forbidden: {} with {}\n", numbered(counts.forbidden[i], "value"), forbidden[i].phrase);
    }
}

}  // namespace

bool check_rules(Context& context, OpenInput& opened, StandardOutput& out) {
    const Arguments& arguments = context.arguments;
    if (has_suppress(arguments.stage.options.rules)) spool_staged(context, opened);
    Rewriting rewriting(opened.input, opened.dialect, arguments.policy, arguments.stage, arguments.execution,
                        [&](const cleave::Stage& stage, std::uint64_t header_records) {
                            context.header_records = header_records;
                            if (!arguments.stage.options.is_empty()) Diagnostics(context).take(stage);
                        });
    LoneReport report(context, opened);
    std::uint64_t size = 0;
    std::optional<QuasiReport> quasi;
    if (arguments.quasi) {
        quasi = measure_quasi(arguments, rewriting);
        size = quasi->size + (arguments.policy.header == HeaderMode::kDrop ? 0 : rewriting.header().size());
    } else {
        rewriting.write_all([&](std::span<const std::uint8_t> bytes) { size += bytes.size(); });
    }
    require_same(context, opened);
    const StageCounts counts = rewriting.counts();
    InputFacts facts = facts_of(opened.input, opened.dialect, arguments.policy.header);
    facts.size = size;
    Json made = stage_report(rewriting.stage(), counts, facts, 0);
    if (quasi) made["quasi"] = quasi_json(*quasi);
    if (arguments.json) {
        out.print("{}\n", made.text());
    } else {
        print_counts(context, rewriting, counts, out);
        if (quasi) print_quasi(*quasi, out);
    }
    report.publish(std::move(made), {});
    out.flush();
    report.commit();
    return std::ranges::all_of(counts.forbidden, [](std::uint64_t count) { return count == 0; });
}

void print_columns(const Context& context, OpenInput& opened, StandardOutput& out) {
    const InputHead head = head_of(context, opened);
    const std::vector<std::string> values = field_values(head.sample, opened.dialect);
    for (std::size_t i = 0; i < values.size(); ++i) {
        out.print("{}\t{}\n", i + 1, head.has_header ? printable(values[i]) : std::string());
    }
}

// Reads the header as strictly as rules do, because they would reject it later.
void print_template(const Context& context, OpenInput& opened, StandardOutput& out) {
    const InputHead head = head_of(context, opened);
    out.print("{}", rules_template(input_columns(head.sample, opened.dialect, head.has_header)));
}

}  // namespace cleave::cli
