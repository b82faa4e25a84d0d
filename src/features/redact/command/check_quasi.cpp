#include "features/redact/command/check_quasi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/formatted.h"
#include "cli/messages.h"
#include "features/redact/lane/record_classes.h"
#include "features/redact/stage/program.h"

namespace cleave::cli {
namespace {

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

}  // namespace

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

}  // namespace cleave::cli
