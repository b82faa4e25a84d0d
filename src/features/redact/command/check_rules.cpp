#include "cli/check_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "cli/diagnostics.h"
#include "cli/formatted.h"
#include "cli/messages.h"
#include "cli/session.h"
#include "features/redact/command/check_quasi.h"
#include "features/redact/command/lone_report.h"
#include "features/redact/command/rewritten_output.h"
#include "features/redact/lane/record_lane.h"
#include "features/redact/lane/rewriting.h"
#include "features/redact/run/stage_report.h"
#include "features/redact/stage/program.h"
#include "features/redact/stage/rules.h"

namespace cleave::cli {
namespace {

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
