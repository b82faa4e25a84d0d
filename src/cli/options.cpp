#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/choices.h"
#include "cli/feature_parts.h"
#include "cli/features.h"
#include "cli/formatted.h"
#include "cli/given.h"
#include "cli/option_groups.h"
#include "cli/option_table.h"
#include "cli/other_tools.h"
#include "cli/values.h"
#include "core/reader/location.h"

namespace cleave::cli {
namespace {

// What excludes what in pieces by value.
void check_by(const Given& given) {
    const bool has_by = given.has("by");
    const bool has_parts = given.has("parts");
    if (!has_by) {
        for (const char* option : {"buckets", "max-values", "hive", "keep-by", "drop-by"}) {
            if (given.has(option)) throw UsageError(formatted("{} needs --by", given.spelling(option)));
        }
    } else if (given.text("by")->empty()) {
        throw UsageError("--by: expected a column before the end");
    }
    if (given.verb() == Verb::kSplit && given.has("seed") && !has_parts && !given.has("buckets"))
        throw UsageError("--seed needs --parts, or --by with --buckets");
    given.refuse_both("parts", "buckets");
    for (const char* option : {"parts", "buckets"}) {
        for (const char* other : {"records", "max-bytes", "max-values", "hive"}) given.refuse_both(option, other);
    }
    given.refuse_both("parts", "pieces");
    if (has_by && given.has("pieces")) {
        throw UsageError(formatted("--by and {} cannot be used together; --buckets N makes N pieces by value",
                                   given.spelling("pieces")));
    }
    for (const char* option : {"by", "parts"}) {
        for (const char* other : {"together", "balance", "reflink"}) given.refuse_both(option, other);
    }
    given.refuse_both("keep-by", "drop-by");
    if (given.has("keep-by") && !given.has("hive")) throw UsageError("--keep-by needs --hive");
}

void take_by(const Given& given, Policy& policy) {
    check_by(given);
    const std::string* const columns = given.text("by");
    const std::string* const parts = given.text("parts");
    if (columns == nullptr && parts == nullptr) return;
    ByValue& by = policy.by.emplace();
    if (columns != nullptr) by.columns = {*columns, given.spelling("by")};
    if (parts != nullptr) by.parts = parse_parts(given.spelling("parts"), *parts);
    by.accepts_missing = given.has("allow-ragged");
    by.buckets = given.count("buckets", 1);
    by.seed = given.count("seed", 0).value_or(by.seed);
    by.max_values = given.count("max-values", 1).value_or(by.max_values);
    if (by.buckets > ByValue::kMostValues)
        throw UsageError(formatted("--buckets: must be at most {}", ByValue::kMostValues));
    if (by.max_values > ByValue::kMostValues)
        throw UsageError(formatted("--max-values: must be at most {}", ByValue::kMostValues));
    by.drops_columns = given.has("drop-by") || (given.has("hive") && !given.has("keep-by"));
}

std::string needed_limit(const Given& given, const char* limits) {
    if (given.has("together")) return "--together only says where cuts may fall; add -n PIECES, -l RECORDS or -C SIZE";
    return formatted("{} needs {}", verb_name(given.verb()), limits);
}

void take_policy(const Given& given, Arguments& arguments) {
    Policy& policy = arguments.policy;
    policy.records = given.count("records", 1);
    policy.max_bytes = given.size("max-bytes");
    if (const auto every = given.count("every", 1)) {
        for (const char* other : {"records", "max-bytes", "pieces"}) given.refuse_both("every", other);
        policy.records = every;  // pieces with `every` records start at the same places
    }
    if (const std::string* pieces = given.text("pieces")) {
        if (!arguments.plan.empty()) {
            take_planned_piece(given, arguments);
        } else if (arguments.verb == Verb::kCat) {
            const Share share = parse_share(given.spelling("pieces"), *pieces);
            policy.pieces = share.count;
            arguments.cat_piece = share.number;
        } else {
            policy.pieces = parse_pieces(given.spelling("pieces"), *pieces);
        }
    }
    for (const char* other : {"records", "max-bytes"}) given.refuse_both("pieces", other);
    if (const auto balance = given.choice("balance", kBalances)) {
        if (!policy.pieces) throw UsageError("--balance needs -n");
        policy.balance = *balance;
    }
    if (const std::string* column = given.text("together")) {
        if (arguments.verb == Verb::kCat && !policy.pieces) throw UsageError("--together needs -n");
        given.refuse_both("together", "every");
        policy.together.emplace().column = {*column, given.spelling("together")};
        policy.together->accepts_missing = given.has("allow-ragged");
    }
    take_by(given, policy);
    if (policy.pieces || policy.records || policy.max_bytes || policy.by || !arguments.plan.empty()) return;
    switch (arguments.verb) {
        case Verb::kSplit:
            throw UsageError(
                needed_limit(given, "-n PIECES, -l RECORDS, -C SIZE, --by COLUMN or --parts NAME=WEIGHT,..."));
        case Verb::kOffsets: throw UsageError(needed_limit(given, "-n PIECES, -l RECORDS, -C SIZE or --every N"));
        case Verb::kCount:
        case Verb::kCheck:
        case Verb::kCat:
        case Verb::kIndex:
        case Verb::kSample:
        case Verb::kJoin:
        case Verb::kVerify:
        case Verb::kScan:
        case Verb::kKey:
        case Verb::kInfo: break;
        case Verb::kPlan: throw UsageError("plan needs -n PIECES or -l RECORDS; -C would need the data");
    }
}

void take_clone(const Given& given, Arguments& arguments) {
    arguments.clone = given.choice("reflink", kCloneModes);
    arguments.output.clone = arguments.clone.value_or(CloneMode::kNever);
    if (arguments.output.clone == CloneMode::kNever) return;
    Policy& policy = arguments.policy;
    if (!policy.max_bytes && !policy.pieces) throw UsageError("--reflink needs -C or -n");
    if (policy.balance == Balance::kRecords) {
        throw UsageError(
            "--balance records and --reflink cannot be used together: shared blocks need cuts at aligned bytes");
    }
    policy.alignment = kCloneAlignment;
}

void take_header(const Given& given, Arguments& arguments) {
    if (const auto mode = given.choice("header", kHeaderModes)) arguments.header = *mode;
    if (given.has("no-header")) arguments.header = HeaderMode::kNone;
    arguments.is_header_given = given.has("header") || given.has("no-header");
    arguments.policy.header = arguments.header;
}

// Call once the dialect is known.
void take_key_columns(Arguments& arguments) {
    const auto take = [&](auto& key) {
        if (!key) return;
        key->is_delimiter_given = !arguments.dialect.sniff_delimiter;
        key->is_header_given = arguments.is_header_given;
    };
    take(arguments.policy.together);
    take(arguments.policy.by);
}

void take_execution(const Given& given, Arguments& arguments) {
    Execution& execution = arguments.execution;
    constexpr std::uint64_t kMaxThreads = 1024;
    execution.threads =
        static_cast<unsigned>(std::min(given.count("threads", 1).value_or(usable_cores()), kMaxThreads));
    if (const auto size = given.size("block-size")) {
        // The scan needs about 65 bytes per block, so with smaller blocks it would need more memory than the input.
        constexpr std::size_t kLeastBlockSize = 64;
        if (*size < kLeastBlockSize || *size > kMaxBlockSize) {
            throw UsageError(formatted("--block-size: must be {} to {} bytes", kLeastBlockSize, kMaxBlockSize));
        }
        execution.block_size = static_cast<std::size_t>(*size);
    }
    try {
        const std::string* name = given.text("kernel");
        execution.kernel = name == nullptr ? &default_kernel() : &kernel_by_name(*name);
    } catch (const std::invalid_argument& error) {
        throw UsageError(error.what());
    }
}

// What to print on standard error besides errors.
void take_talk(const Given& given, Arguments& arguments) {
    arguments.quiet = given.has("quiet");
    arguments.verbose = given.has("verbose");
    if (const auto progress = given.choice("progress", kWhens)) arguments.progress = *progress;
    // The later of --quiet and --progress decides whether there is a bar. In either order, warnings are not printed.
    if (arguments.quiet && !given.is_after("progress", "quiet")) arguments.progress = When::kNever;
}

void take_tolerance(const Given& given, Arguments& arguments) {
    arguments.allows_open_quote = given.has("allow-open-quote");
    arguments.allows_ragged = given.has("allow-ragged");
    arguments.requires_one_reading = given.has("require-one-reading");
}

void take_inputs(const Given& given, Arguments& arguments) {
    arguments.inputs = given.inputs();
    arguments.snapshot = given.has("snapshot");
    if (const std::string* const name = given.text("encoding")) arguments.encoding = parse_encoding(*name);
    given.refuse_both("encoding", "snapshot");
    const bool many =
        arguments.verb == Verb::kCount || arguments.verb == Verb::kCheck || arguments.verb == Verb::kIndex;
    const bool is_listed = given.has("inputs-from");
    const bool joins = joins_inputs(arguments.verb) && has_feature("inputs");
    if (is_listed || (joins && arguments.inputs.size() > 1)) {
        take_several(given, arguments);
    } else if (given.has("columns-by-name") || given.has("drop-unknown")) {
        throw UsageError("--columns-by-name is for several inputs");
    } else if (!many && arguments.inputs.size() > 1) {
        const bool has_names = arguments.verb != Verb::kSplit || given.has("output");
        std::string hint = second_input_hint(arguments.verb, arguments.inputs, has_names);
        if (hint.empty() && joins_inputs(arguments.verb)) hint = "; this cleave was built without the feature 'inputs'";
        throw UsageError(formatted("{} takes one input, but '{}' is a second one{}", verb_name(arguments.verb),
                                   arguments.inputs[1].bare(), hint));
    }
    if (!arguments.inputs.empty() || is_listed || given.has("rejected")) return;
    if (arguments.verb == Verb::kIndex) throw UsageError("index needs a FILE");
    if (arguments.verb == Verb::kOffsets || arguments.verb == Verb::kCat || arguments.verb == Verb::kSample)
        throw UsageError(formatted("{} needs a FILE; - is standard input", verb_name(arguments.verb)));
    arguments.inputs.add("-");
}

void take_range(const Given& given, Arguments& arguments) {
    arguments.last = given.count("last", 0);
    if (arguments.last) {
        for (const char* other : {"range", "pieces", "plan"}) given.refuse_both("last", other);
        arguments.range.emplace();
    }
    const std::string* const range = given.text("range");
    if (range == nullptr) return;
    given.refuse_both("range", "pieces");
    arguments.range = parse_range(given.spelling("range"), *range);
}

void take_sample(const Given& given, Arguments& arguments) {
    if (arguments.verb != Verb::kSample) return;
    if (!given.has("draw")) throw UsageError("sample needs -k RECORDS");
    arguments.sample_size = parse_count(given.spelling("draw"), *given.text("draw"), 0);
    arguments.seed = given.count("seed", 0);
}

// Call once everything that determines whether a scan is needed is known.
void take_index(const Given& given, Arguments& arguments) {
    arguments.verifies = given.has("verify");
    const Verb verb = arguments.verb;
    const bool has_option = verb == Verb::kSplit || verb == Verb::kOffsets || verb == Verb::kCat ||
                            verb == Verb::kCount || verb == Verb::kSample;
    if (!has_option) return;
    const IndexUse use = given.choice("index", kIndexUses).value_or(IndexUse::kAuto);
    const bool is_required = use == IndexUse::kRequire;
    if (is_required && arguments.snapshot) throw UsageError("--index require and --snapshot cannot be used together");
    if (is_required && !arguments.stage.options.is_empty())
        throw UsageError("--index require and rules cannot be used together: rules read the whole input");
    const bool reads_parts = verb != Verb::kCat || arguments.cat_piece != 0 || arguments.range;
    const bool is_joined = joins_inputs(verb) && (arguments.inputs.size() > 1 || given.has("inputs-from"));
    if (is_required && is_joined) throw UsageError("--index require takes one input");
    const bool can_use =
        !arguments.snapshot && !is_joined && arguments.stage.options.is_empty() && (reads_parts || is_required);
    arguments.index = can_use ? use : IndexUse::kNever;
}

HelpLevel help_level(const Given& given) {
    if (!given.has("help")) return HelpLevel::kNone;
    return given.spelling("help") == "-h" ? HelpLevel::kShort : HelpLevel::kLong;
}

void take_key(const Given& given, Arguments& arguments) {
    const LocationList& words = given.inputs();
    if (words.empty()) throw UsageError("key needs a command: new, rotate, list or check");
    arguments.key_command = parse_choice("key", words[0].name(), kKeyCommands);
    if (words.size() != 2) throw UsageError(formatted("key {} takes one FILE", words[0].name()));
    arguments.key_file = words[1].name();
}

void take_info(const Given& given, Arguments& arguments) {
    if (!given.inputs().empty()) throw UsageError(formatted("info takes no FILE: '{}'", given.inputs().front().bare()));
    arguments.calibrates = given.has("calibrate");
    if (const std::string* const device = given.text("device")) arguments.device = *device;
}

void take_join(const Given& given, Arguments& arguments) {
    take_header(given, arguments);
    take_dialect(given, arguments);
    take_talk(given, arguments);
    const Location output(given.has("output") ? *given.text("output") : "-");
    arguments.output.names = output.is_stream() ? "" : output.name();
    arguments.output.replace = given.has("force");
    if (arguments.output.replace && arguments.output.names.empty()) throw UsageError("-f needs -o FILE");
    if (output.is_url()) throw UsageError("-o: join writes a file; objects are written by split");
    if (const std::string* manifest = given.text("manifest")) arguments.output.manifest = *manifest;
    arguments.inputs = given.inputs();
    for (const char* other : {"header", "no-header", "skip-lines", "comment"}) given.refuse_both("manifest", other);
    for (const char* option : {"skip-lines", "comment"}) {
        if (given.has(option) && arguments.policy.header == HeaderMode::kDrop)
            throw UsageError(formatted("{} is only for pieces with a header", given.spelling(option)));
    }
    take_rejects_of_join(given, arguments);
    if (arguments.inputs.empty() && arguments.output.manifest.empty())
        throw UsageError("join needs PIECE... or --manifest FILE");
}

void take_verify(const Given& given, Arguments& arguments) {
    take_execution(given, arguments);
    arguments.inputs = given.inputs();
    if (arguments.inputs.size() != 1) throw UsageError("verify takes one REPORT; - is standard input");
    arguments.is_keyless = given.has("no-key");
    arguments.key_sources = given.all("key");
    given.refuse_both("key", "no-key");
    if (arguments.key_sources.size() > 1) throw UsageError("verify takes one --key: the key that signed the report");
    if (arguments.key_sources.empty() && !arguments.is_keyless) {
        throw UsageError(
            "verify needs --key NAME=WHERE; if you do not have the key, check who wrote the report with ssh-keygen -Y "
            "verify, then compare the files with --no-key");
    }
    given.refuse_both("input", "no-key");  // the hash of the input is keyed
    if (const std::string* const input = given.text("input")) {
        if (input->empty()) throw UsageError("--input: '' names no file");
        arguments.reported_input = Location(*input);
    }
}

void take_scan(const Given& given, Arguments& arguments) {
    take_dialect(given, arguments);
    take_execution(given, arguments);
    take_talk(given, arguments);
    take_byte_range(given, arguments);
    arguments.index = IndexUse::kAuto;  // a gzip file has ranges only with an index
}

void take_plan(const Given& given, Arguments& arguments) {
    take_header(given, arguments);
    take_policy(given, arguments);
    take_talk(given, arguments);
    take_tolerance(given, arguments);
    arguments.inputs = given.inputs();
    if (arguments.inputs.empty()) arguments.inputs.add("-");
}

}  // namespace

Shell parse_shell(const std::string& name) { return parse_choice("--completion", name, kShells); }

Arguments parse_arguments(Verb verb, const std::vector<std::string>& words) {
    const Given given(verb, words);
    Arguments arguments;
    arguments.verb = verb;
    arguments.help = help_level(given);
    if (arguments.help != HelpLevel::kNone) return arguments;
    if (verb == Verb::kKey) {
        take_key(given, arguments);
        return arguments;
    }
    if (verb == Verb::kInfo) {
        take_info(given, arguments);
        return arguments;
    }
    if (verb == Verb::kJoin) {
        take_join(given, arguments);
        return arguments;
    }
    if (verb == Verb::kVerify) {
        take_verify(given, arguments);
        return arguments;
    }
    if (verb == Verb::kScan) {
        take_scan(given, arguments);
        return arguments;
    }
    if (verb == Verb::kPlan) {
        take_plan(given, arguments);
        return arguments;
    }
    take_range_plan(given, arguments);
    take_policy(given, arguments);
    take_clone(given, arguments);
    take_header(given, arguments);
    take_dialect(given, arguments);
    take_execution(given, arguments);
    take_output(given, arguments);
    take_stage(given, arguments);
    take_key_columns(arguments);
    take_inputs(given, arguments);
    take_talk(given, arguments);
    take_range(given, arguments);
    take_index(given, arguments);
    take_rejects(given, arguments);
    take_sample(given, arguments);
    take_tolerance(given, arguments);
    const bool prints_all =
        verb == Verb::kCat && !arguments.range && arguments.cat_piece == 0 && arguments.plan.empty();
    if (prints_all && arguments.requires_one_reading && arguments.stage.options.is_empty()) {
        arguments.range.emplace();  // all records, which are then read in both ways
    }
    arguments.strict_size = given.has("strict-size");
    const Policy& policy = arguments.policy;
    if (arguments.strict_size && !policy.max_bytes && !(policy.together && policy.records)) {
        throw UsageError("--strict-size needs -C, or -l with --together");
    }
    return arguments;
}

}  // namespace cleave::cli
