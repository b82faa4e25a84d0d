// cleave count: prints the number of records, without the header.
#include "cli/diagnostics.h"
#include "cli/session.h"
#include "cli/verbs.h"
#include "engine/plan_json.h"

namespace cleave::cli {
namespace {

// `size` is in bytes, after decompression. `file_size` is the size of a compressed file; 0 if not known.
struct Count {
    std::uint64_t records = 0;
    std::uint64_t size = 0;
    bool has_header = false;
    Compression compression = Compression::kNone;
    std::uint64_t file_size = 0;
};

Count count_of(Context& context, const Location& location) {
    Count count;
    with_input(context, location, nullptr, [&](OpenInput& opened) {
        const Findings findings = scan(opened.input, opened.dialect, context.arguments.execution);
        Diagnostics(context).take(findings);
        count.records = findings.records - context.header_records;
        count.size = findings.size;
        count.has_header = context.header_records > findings.preamble_records;
        count.compression = opened.input.compression();
        count.file_size = opened.input.identity().size;
    });
    return count;
}

std::string json_text(const std::string& path, const Count& count) {
    Json json;
    json["path"] = path;
    json["size"] = count.size;
    json["records"] = count.records;
    json["header"] = count.has_header;
    json["compression"] = compression_json(count.compression, count.file_size);
    return json.text();
}

}  // namespace

void count_input(Context& context, const Location& location, StandardOutput& out, CountTotal& total) {
    const Arguments& arguments = context.arguments;
    const Count count = count_of(context, location);
    if (arguments.json) {
        out.print("{}\n", json_text(location.name(), count));
    } else if (arguments.inputs.size() == 1) {
        out.print("{}{}", count.records, line_end(arguments));
    } else {
        out.print("{} {}{}", count.records, location.name(), line_end(arguments));
    }
    out.flush();
    ++total.inputs;
    total.records += count.records;
    total.size += count.size;
}

void print_total(const Arguments& arguments, const CountTotal& total, StandardOutput& out) {
    if (arguments.json) {
        Json json;
        Json& sums = json["total"];
        sums["inputs"] = total.inputs;
        sums["size"] = total.size;
        sums["records"] = total.records;
        out.print("{}\n", json.text());
    } else {
        out.print("{} total{}", total.records, line_end(arguments));
    }
}

}  // namespace cleave::cli
