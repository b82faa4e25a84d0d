// The report of `check` as JSON.
#include <optional>

#include "cli/check_report.h"
#include "cli/plan_json.h"

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

ordered_json place_json(const std::optional<Place>& place, const CheckReport& report) {
    if (!place) return nullptr;
    // Records are counted from 1, the header is record 0.
    return {{"byte", place->offset}, {"record", place->record + 1 - report.header_records()}};
}

ordered_json tally_json(const Tally& tally, const CheckReport& report) {
    return {{"count", tally.count}, {"first", place_json(tally.first, report)}};
}

ordered_json names_json(const CheckReport& report) {
    const std::vector<std::string> names = column_names(report);
    return names.empty() ? ordered_json(nullptr) : ordered_json(names);
}

ordered_json longest_json(const CheckReport& report) {
    const RecordExtent& longest = report.examination.census.longest;
    if (longest.size == 0) return nullptr;
    ordered_json json = place_json(longest.start, report);
    json["size"] = longest.size;
    return json;
}

ordered_json ragged_json(const CheckReport& report) {
    const Ragged& ragged = report.examination.census.ragged;
    ordered_json json = tally_json(ragged, report);
    json["fields"] = ragged.count > 0 ? ordered_json(ragged.fields) : ordered_json(nullptr);
    return json;
}

const char* name_of(DelimiterReason reason) {
    switch (reason) {
        case DelimiterReason::kGiven: return "given";
        case DelimiterReason::kName: return "name";
        case DelimiterReason::kFit: return "fit";
        case DelimiterReason::kDefault: break;
    }
    return "default";
}

ordered_json sniffed_json(const CheckReport& report) {
    const SniffedDialect& sniffed = report.sniffed;
    ordered_json delimiter = {{"why", name_of(sniffed.delimiter_reason)}};
    if (sniffed.delimiter_reason == DelimiterReason::kFit) {
        delimiter["records"] = sniffed.fit.records;
        delimiter["agreeing"] = sniffed.fit.agreeing;
        delimiter["fields"] = sniffed.fit.fields;
        delimiter["quotes"] = sniffed.fit.quotes;
        delimiter["misplaced_quotes"] = sniffed.fit.misplaced_quotes;
    }
    const char* why = report.terminator_given ? "given" : sniffed.terminator_offset ? "first" : "default";
    ordered_json terminator = {{"why", why}};
    if (sniffed.terminator_offset) terminator["byte"] = *sniffed.terminator_offset;
    return {{"delimiter", delimiter}, {"terminator", terminator}};
}

}  // namespace

void print_json(StandardOutput& out, const CheckReport& report) {
    const Findings& findings = report.examination.findings;
    const Census& census = report.examination.census;
    const TerminatorCounts& ends = census.terminators;
    const ordered_json json = {
        {"path", report.path},
        {"size", findings.size},
        {"records", report.records()},
        {"header", report.header_records() == 1},
        {"bom", report.bom},
        {"dialect", dialect_json(report.sniffed.dialect)},
        {"sniffed", sniffed_json(report)},
        {"fields", report.examination.fields},
        {"names", names_json(report)},
        {"ragged", ragged_json(report)},
        {"longest_record", longest_json(report)},
        {"empty_records", tally_json(census.empty, report)},
        {"terminators", {{"lf", ends.lf}, {"crlf", ends.crlf}, {"cr", ends.cr}, {"none", ends.none}}},
        {"quoted_newlines", census.quoted_breaks},
        {"unquoted_newlines", census.data_breaks},
        {"stray_quotes", tally_json(census.stray_quotes, report)},
        {"quote_rules_differ", place_json(findings.divergence, report)},
        {"open_quote", place_json(findings.open_quote, report)},
        {"sound", report.sound}};
    out.print("{}\n", dump_json(json));
}

}  // namespace cleave::cli
