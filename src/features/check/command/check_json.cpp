// The report of `check` as JSON.
#include <optional>
#include <utility>

#include "cli/messages.h"
#include "cli/standard_output.h"
#include "engine/plan_json.h"
#include "features/check/command/check_report.h"

namespace cleave::cli {
namespace {

Json place_json(const std::optional<Place>& place, const CheckReport& report) {
    if (!place) return nullptr;
    Json json;
    json["byte"] = place->offset;
    json["record"] = record_number(*place, report.header_records());
    return json;
}

Json tally_json(const Tally& tally, const CheckReport& report) {
    Json json;
    json["count"] = tally.count;
    json["first"] = place_json(tally.first, report);
    return json;
}

Json names_json(const CheckReport& report) {
    const std::vector<std::string> names = column_names(report);
    return names.empty() ? Json(nullptr) : Json(names);
}

Json longest_json(const CheckReport& report) {
    const RecordExtent& longest = report.examination.census.longest;
    if (longest.size == 0) return nullptr;
    Json json = place_json(longest.start, report);
    json["size"] = longest.size;
    return json;
}

Json ragged_json(const CheckReport& report) {
    const Ragged& ragged = report.examination.census.ragged;
    Json json = tally_json(ragged, report);
    json["fields"] = ragged.count > 0 ? Json(ragged.fields) : Json(nullptr);
    Json& records = json["records"] = Json::Array();
    for (const RaggedRecord& record : ragged.listed) {
        records.add(place_json(record.place, report))["fields"] = record.fields;
    }
    return json;
}

Json json_lines_json(const CheckReport& report) {
    if (!report.examination.json) return nullptr;
    const JsonCensus& census = *report.examination.json;
    Json json;
    Json& not_json = json["not_json"] = tally_json(census.not_json, report);
    Json& lines = not_json["lines"] = Json::Array();
    for (const JsonLineFault& fault : census.not_json.listed) {
        lines.add(place_json(fault.place, report))["why"] = fault.what;
    }
    json["blank_lines"] = tally_json(census.blank, report);
    Json& keys = json["keys"] = Json::Array();
    for (const JsonKeyCount& key : census.keys) {
        Json count;
        count["name"] = key.name;
        count["count"] = key.count;
        keys.add(std::move(count));
    }
    json["more_keys"] = census.has_more_keys;
    return json;
}

Json terminators_json(const TerminatorCounts& ends) {
    Json json;
    json["lf"] = ends.lf;
    json["crlf"] = ends.crlf;
    json["cr"] = ends.cr;
    json["none"] = ends.none;
    return json;
}

const char* name_of(DelimiterReason reason) {
    switch (reason) {
        case DelimiterReason::kGiven: return "given";
        case DelimiterReason::kLine: return "line";
        case DelimiterReason::kName: return "name";
        case DelimiterReason::kFit: return "fit";
        case DelimiterReason::kQuotes: return "quotes";
        case DelimiterReason::kDefault: break;
    }
    return "default";
}

Json sniffed_json(const CheckReport& report) {
    const SniffedDialect& sniffed = report.sniffed;
    Json delimiter;
    delimiter["why"] = name_of(sniffed.delimiter_reason);
    if (sniffed.delimiter_reason == DelimiterReason::kFit) {
        delimiter["records"] = sniffed.fit.records;
        delimiter["agreeing"] = sniffed.fit.agreeing;
        delimiter["fields"] = sniffed.fit.fields;
        delimiter["quotes"] = sniffed.fit.quotes;
        delimiter["misplaced_quotes"] = sniffed.fit.misplaced_quotes;
    }
    Json terminator;
    terminator["why"] = report.terminator_given ? "given" : sniffed.terminator_offset ? "first" : "default";
    if (sniffed.terminator_offset) terminator["byte"] = *sniffed.terminator_offset;
    Json json;
    json["delimiter"] = std::move(delimiter);
    json["terminator"] = std::move(terminator);
    return json;
}

}  // namespace

void print_json(StandardOutput& out, const CheckReport& report) {
    const Findings& findings = report.examination.findings;
    const Census& census = report.examination.census;
    Json json;
    json["path"] = report.location.name();
    json["size"] = findings.size;
    json["records"] = report.records();
    json["header"] = report.shows_header();
    json["bom"] = report.bom;
    json["later_boms"] = tally_json(census.marks, report);
    json["not_utf8"] = tally_json(census.not_utf8, report);
    json["nuls"] = tally_json(census.nuls, report);
    json["compression"] = compression_json(report.compression, report.file_size);
    if (report.encoding != Encoding::kBytes) json["encoding"] = encoding_name(report.encoding);
    json["dialect"] = dialect_json(report.sniffed.dialect);
    json["sniffed"] = sniffed_json(report);
    json["fields"] = report.examination.fields;
    json["names"] = names_json(report);
    json["ragged"] = ragged_json(report);
    json["longest_record"] = longest_json(report);
    json["empty_records"] = tally_json(census.empty, report);
    json["terminators"] = terminators_json(census.terminators);
    json["quoted_newlines"] = census.quoted_breaks;
    json["unquoted_newlines"] = census.data_breaks;
    json["stray_quotes"] = tally_json(census.stray_quotes, report);
    json["quote_rules_differ"] = place_json(findings.divergence, report);
    json["open_quote"] = place_json(findings.open_quote, report);
    json["json_lines"] = json_lines_json(report);
    json["sound"] = report.sound;
    out.print("{}\n", json.text());
}

}  // namespace cleave::cli
