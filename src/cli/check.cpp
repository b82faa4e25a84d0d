// cleave check: what an input is, and whether anything in it is odd.
#include <optional>

#include "cli/output.h"
#include "cli/plan_json.h"
#include "cli/verbs.h"

namespace cleave::cli {
namespace {

struct Report {
    std::string path;
    bool bom = false;
    Dialect dialect;
    Findings findings;
    std::uint64_t header_records = 0;
    bool sound = true;

    std::uint64_t records() const { return findings.records - header_records; }
};

nlohmann::ordered_json place_json(const std::optional<Place>& place, std::uint64_t header_records) {
    if (!place) return nullptr;
    // Records are counted from 1, the header is record 0.
    return {{"byte", place->offset}, {"record", place->record + 1 - header_records}};
}

void print_json(StandardOutput& out, const Report& report) {
    const Findings& findings = report.findings;
    const nlohmann::ordered_json json = {{"path", report.path},
                                         {"size", findings.size},
                                         {"records", report.records()},
                                         {"header", report.header_records == 1},
                                         {"bom", report.bom},
                                         {"dialect", dialect_json(report.dialect)},
                                         {"quote_rules_differ", place_json(findings.divergence, report.header_records)},
                                         {"open_quote", place_json(findings.open_quote, report.header_records)},
                                         {"sound", report.sound}};
    out.print("{}\n", dump_json(json));
}

std::string describe_byte(std::optional<std::uint8_t> byte) {
    if (!byte) return "none";
    return *byte > ' ' && *byte < 0x7F ? std::string(1, static_cast<char>(*byte)) : fmt::format("\\x{:02x}", *byte);
}

void print_text(StandardOutput& out, const Report& report, bool has_header) {
    const Findings& findings = report.findings;
    const Dialect& dialect = report.dialect;
    const auto place = [&](const char* before, const std::optional<Place>& where) {
        return where ? fmt::format("{} {}", before, describe_place(*where, has_header)) : std::string();
    };
    out.print("{}: {}\n", printable(display_name(report.path)), report.sound ? "sound" : "not sound");
    out.print("  size         {} bytes{}\n", findings.size, report.bom ? ", after a UTF-8 byte order mark of 3" : "");
    out.print("  records      {}{}\n", report.records(), report.header_records == 1 ? " and a header" : "");
    out.print("  delimiter    {}\n", describe_byte(dialect.delimiter));
    out.print("  quote        {}, quoting {}\n", describe_byte(dialect.quote), name_of(dialect.quoting));
    out.print("  escape       {}{}\n", describe_byte(dialect.escape),
              dialect.escape ? fmt::format(", {}", name_of(dialect.escape_scope)) : "");
    out.print("  terminator   {}\n", name_of(dialect.terminator));
    out.print("  quote rules  {}\n", findings.divergence ? place("differ", findings.divergence) : "agree");
    out.print("  open quote   {}\n", findings.open_quote ? place("never closed", findings.open_quote) : "none");
}

}  // namespace

bool check_input(Context& context, const std::string& path, StandardOutput& out) {
    const Arguments& arguments = context.arguments;
    Report report;
    report.path = path;
    with_input(context, path, nullptr, [&](OpenInput& opened) {
        report.bom = bom_size(opened.input.peek(kSniffSize)) > 0;
        report.dialect = opened.dialect;
        report.findings = scan(opened.input, opened.dialect, arguments.machine);
    });
    report.header_records = context.has_header() && report.findings.records > 0 ? 1 : 0;
    report.sound =
        (!report.findings.open_quote || arguments.lenient) && (!report.findings.divergence || !arguments.strict);
    if (arguments.json) {
        print_json(out, report);
    } else {
        print_text(out, report, context.has_header());
    }
    out.flush();
    return report.sound;
}

}  // namespace cleave::cli
