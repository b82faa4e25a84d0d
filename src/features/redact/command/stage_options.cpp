#include "cli/option_groups.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cli/choices.h"
#include "cli/formatted.h"
#include "cli/named.h"
#include "cli/option_table.h"
#include "cli/values.h"
#include "core/reader/fd.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kMaxRulesFile = std::size_t{16} << 20;

std::string read_rules(const Location& location) {
    std::string text = read_to_end(open_file(location).get(), kMaxRulesFile, location.shown());
    if (text.size() > kMaxRulesFile) throw UsageError(formatted("{}: too long for a rules file", location.shown()));
    return text;
}

void take_rules(const Given& given, StageOptions& options) {
    if (const std::string* select = given.text("select")) options.select = RuleText{*select, given.spelling("select")};
    for (const std::string& rule : given.all("redact")) options.rules.push_back({rule, "--redact"});
    for (const std::string& path : given.all("rules")) {
        const Location location(path);
        for (RuleText& rule : rules_of_file(read_rules(location), location.shown()))
            options.rules.push_back(std::move(rule));
    }
    options.files = files_of_rules(options.rules);
    options.default_action = given.choice("redact-default", kDefaultActions);
    if (const std::string* token = given.text("redact-null")) options.null_token = *token;
    if (const auto size = given.size("max-record")) {
        if (*size < 1 || *size > kMaxRecordLimit) {
            throw UsageError(formatted("--max-record: must be 1 to {} bytes", kMaxRecordLimit));
        }
        options.max_record = *size;
    }
}

void take_pattern(const std::string& name, const std::string& rest, std::vector<ForbiddenPattern>& patterns) {
    constexpr std::string_view kPrefix = "re2:";
    const std::string option = formatted("--forbid {}", name);
    if (name.empty()) throw UsageError(formatted("--forbid ={}: there is no name before the equals sign", rest));
    if (!rest.starts_with(kPrefix)) {
        throw UsageError(formatted("{}: a pattern begins with re2:, as in {}=re2:{}", option, name, rest));
    }
    const std::string text = rest.substr(kPrefix.size());
    const auto same = std::ranges::find(patterns, name, &ForbiddenPattern::name);
    if (same != patterns.end() && same->text() == text) return;
    if (same != patterns.end()) throw UsageError(formatted("{}: two patterns have this name", option));
    try {
        patterns.emplace_back(name, text);
    } catch (const ArgumentError& error) {
        throw UsageError(formatted("{}: {}", option, error.what()));
    }
}

// Modules are loaded here, before anything is read, and before the sandbox closes.
void take_forbidden(const Given& given, StageOptions& options) {
    for (const std::string& text : given.all("forbid")) {
        const std::size_t sign = text.find('=');
        if (sign != std::string::npos) {
            take_pattern(text.substr(0, sign), text.substr(sign + 1), options.forbid_patterns);
            continue;
        }
        const std::string kind = text == "mail" ? "email" : text;  // an older name
        const ForbiddenKind chosen = parse_choice("--forbid", kind, kForbidden);
        if (std::ranges::find(options.forbid, chosen) == options.forbid.end()) options.forbid.push_back(chosen);
    }
}

void take_memory_manager(const Given& given, Arguments& arguments) {
    constexpr const char* kVariable = "CLEAVE_MEMORY_MANAGER";
    const std::string* name = given.text("memory-manager");
    const char* const variable = ::secure_getenv(kVariable);
    if (name != nullptr) {
        arguments.memory_manager = *name;
        arguments.memory_manager_origin = given.spelling("memory-manager");
    } else if (variable != nullptr && *variable != 0) {
        arguments.memory_manager = variable;
        arguments.memory_manager_origin = kVariable;
    }
}

void take_device(const Given& given, Arguments& arguments) {
    const std::string* name = given.text("device");
    if (name != nullptr && *name != "cpu") arguments.device = *name;
    const bool is_gpu = arguments.device == "gpu" || arguments.device.starts_with("gpu:");
    if (!arguments.device.empty() && arguments.device != "auto" && !is_gpu && !arguments.device.starts_with('/')) {
        throw UsageError(
            formatted("--device: '{}' is not cpu, auto, gpu, gpu:N or the absolute path of a module", *name));
    }
    if (const auto size = given.size("device-memory")) {
        if (arguments.device.empty()) throw UsageError("--device-memory needs --device auto or gpu");
        arguments.device_memory = *size;
    }
    arguments.explain = given.has("explain");
}

std::optional<ByValue> columns_of(const Given& given, const char* option, const StageOptions& options) {
    const std::string* const columns = given.text(option);
    if (columns == nullptr) return std::nullopt;
    ByValue by;
    by.columns = {*columns, given.spelling(option)};
    by.is_delimiter_given = options.is_delimiter_given;
    by.is_header_given = options.is_header_given;
    return by;
}

// A report cannot share standard output with other output.
void refuse_report_on_stdout(const Given& given, const Arguments& arguments) {
    if (arguments.verb == Verb::kCat || arguments.verb == Verb::kSample) {
        throw UsageError(
            formatted("--redact-report - cannot be used with {}, which writes the records to standard output",
                      verb_name(arguments.verb)));
    }
    if (arguments.verb == Verb::kCheck) {
        throw UsageError(
            "--redact-report - cannot be used with check, which uses standard output too; --json prints the report");
    }
    const std::string* manifest = given.text("manifest");
    if (arguments.json || arguments.print || (manifest != nullptr && *manifest == "-")) {
        throw UsageError(
            "--redact-report - cannot be used with --print-names, --print0, --json or --manifest -: they all use "
            "standard "
            "output");
    }
}

void take_report(const Given& given, Arguments& arguments) {
    const std::string* report = given.text("redact-report");
    if (report == nullptr) return;
    if (report->empty() || report->ends_with('/')) throw UsageError("--redact-report: '" + *report + "' names no file");
    if (*report == "-") refuse_report_on_stdout(given, arguments);
    arguments.output.report = *report == "-" ? "/dev/stdout" : *report;
}

void take_signing(const Given& given, Arguments& arguments) {
    const std::string* const key = given.text("sign");
    if (key == nullptr) return;
    if (!given.has("redact-report")) throw UsageError("--sign needs --redact-report FILE");
    constexpr std::pair<const char*, const char*> kReasons[] = {
        {"filter", "cleave does not see the files that the command makes, so it cannot hash them"},
        {"dry-run", "nothing is written that could be hashed"},
        {"snapshot", "an input that grows has no hash that could be compared later"},
    };
    for (const auto& [option, reason] : kReasons) {
        if (given.has(option)) throw UsageError(formatted("--sign cannot be used with --{}: {}", option, reason));
    }
    arguments.sign = *key;
}

}  // namespace

void take_stage(const Given& given, Arguments& arguments) {
    StageOptions& options = arguments.stage.options;
    take_forbidden(given, options);
    take_rules(given, options);
    options.is_delimiter_given = !arguments.dialect.sniff_delimiter;
    options.is_header_given = given.has("header") || given.has("no-header");
    options.is_escape_given = given.has("escape") || given.has("dialect");
    options.only_counts_forbidden = arguments.verb == Verb::kCheck;
    arguments.key_sources = given.all("key");
    take_report(given, arguments);
    take_signing(given, arguments);
    arguments.stage.may_spool = given.choice("spool", kSpools).has_value();
    arguments.shows_columns = given.has("columns");
    arguments.shows_template = given.has("rules-template");
    arguments.quasi = columns_of(given, "quasi", options);
    arguments.sensitive = columns_of(given, "sensitive", options);
    if (arguments.sensitive && !arguments.quasi) throw UsageError("--sensitive needs --quasi");
    // Each of these replaces the report of check.
    for (const char* name : {"columns", "rules-template"}) {
        for (const char* other :
             {"columns", "rules-template", "select", "redact", "rules", "redact-default", "forbid", "quasi", "json"}) {
            if (std::string_view(name) != other) given.refuse_both(name, other);
        }
    }
    if (given.has("redact-report") && given.inputs().size() > 1) throw UsageError("--redact-report takes one input");
    if (options.is_empty()) {
        for (const char* name : {"key", "redact-null", "redact-report", "sign", "spool", "max-record", "memory-manager",
                                 "device", "device-memory", "explain"}) {
            const bool is_of_rejects = std::string_view(name) == "max-record" && given.has("rejects");
            if (given.has(name) && !is_of_rejects) {
                throw UsageError(formatted("{} needs --select, --redact, --rules, --redact-default or --forbid",
                                           given.spelling(name)));
            }
        }
        return;
    }
    take_memory_manager(given, arguments);
    take_device(given, arguments);
    if (arguments.clone && *arguments.clone != CloneMode::kNever) {
        throw UsageError("--reflink cannot be used with options that change records");
    }
}

}  // namespace cleave::cli
